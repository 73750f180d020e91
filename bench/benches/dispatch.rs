//! A dispatcher alone: what a server does with a request between reading it and writing the answer. Finding the method, decoding, the handler,
//! encoding.

#![allow(missing_docs, reason = "criterion's macros")]

use std::hint::black_box;
use std::task::{Context, Poll, Waker};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use rpc::generated::{Dispatch, Encoder, Request};
use rpc::{Codec, RpcError, rpc_service};

struct Echo;

/// A service whose methods all give back what they get.
macro_rules! service {
    ($service:ident $name:literal: $($method:ident)*) => {
        #[rpc_service(name = $name)]
        trait $service {
            $(async fn $method(&self, number: u64) -> Result<u64, RpcError>;)*
        }

        impl $service for Echo {
            $(async fn $method(&self, number: u64) -> Result<u64, RpcError> {
                Ok(number)
            })*
        }
    };
}

service!(Small "bench.Small": m0 m1 m2 m3 m4);
service! {
    Large "bench.Large":
        m00 m01 m02 m03 m04 m05 m06 m07 m08 m09
        m10 m11 m12 m13 m14 m15 m16 m17 m18 m19
        m20 m21 m22 m23 m24 m25 m26 m27 m28 m29
        m30 m31 m32 m33 m34 m35 m36 m37 m38 m39
        m40 m41 m42 m43 m44 m45 m46 m47 m48 m49
        m50 m51 m52 m53 m54 m55 m56 m57 m58 m59
        m60 m61 m62 m63 m64 m65 m66 m67 m68 m69
        m70 m71 m72 m73 m74 m75 m76 m77 m78 m79
        m80 m81 m82 m83 m84 m85 m86 m87 m88 m89
        m90 m91 m92 m93 m94 m95 m96 m97 m98 m99
}

/// Calls the last method.
fn call(c: &mut Criterion, dispatcher: &impl Dispatch) {
    let methods = dispatcher.service().methods().len();
    let mut encoder = Encoder::new(Codec::Bincode);
    encoder.push(&7u64).expect("a number can be encoded");
    let body = encoder.finish().into_bytes();
    let request = || Request::local(Codec::Bincode, &body);
    let answer = |request: Request<'_>| {
        let mut handling = dispatcher.dispatch(black_box(methods - 1), request);
        match handling.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => unreachable!("the handler waits for nothing"),
        }
    };
    let mut group = c.benchmark_group("dispatch");
    group.bench_function(BenchmarkId::new("methods", methods), |b| {
        b.iter_batched(request, answer, BatchSize::SmallInput);
    });
}

fn dispatch(c: &mut Criterion) {
    call(c, &SmallDispatcher::new(Echo));
    call(c, &LargeDispatcher::new(Echo));
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
