//! Generates the gRPC client and server, from a description in Rust: nobody needs protoc.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let echo = Method::builder()
        .name("echo")
        .route_name("Echo")
        .input_type("crate::stack::tonic::Message")
        .output_type("crate::stack::tonic::Message")
        .codec_path("tonic_prost::ProstCodec")
        .build();
    let service = Service::builder().package("bench").name("Echo").method(echo).build();
    Builder::new().compile(&[service]);
}
