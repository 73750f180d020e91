//! The examples of `PROTOCOL.md`, so that the page and the code cannot drift apart.

use std::fmt::Debug;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use tokio_util::codec::Decoder;

use super::Malformed;
use super::codec::{Codec, Encoder, encode};
use super::frame::{Frame, FrameDecoder, Header, Kind};
use super::hello::{ClientHello, ServerHello, TableEntry, Welcome};
use super::message::{Description, RequestHead, Response, decode_question, encode_question};
use super::shape::Shape;
use crate::RpcError;
use crate::context::Metadata;
use crate::status::{Status, StatusCode};

const PAGE: &str = include_str!("../../../PROTOCOL.md");

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct CustomerId(u64);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Customer {
    id: CustomerId,
    address: Option<Address>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Address {
    street: String,
    position: (f64, f64),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Received,
    Shipped { at: u64, label: Vec<u8> },
    Split(Vec<State>),
}

/// What `async fn order(&self, customer: Customer, items: Vec<u32>) -> Result<State, RpcError>` takes.
type Arguments = (Customer, (Vec<u32>, ()));

fn order_shapes() -> (Shape, Shape) {
    (Shape::of_arguments::<Arguments>().unwrap(), Shape::of_result::<State, RpcError>().unwrap())
}

fn close_shapes() -> (Shape, Shape) {
    (Shape::of_arguments::<()>().unwrap(), Shape::of_result::<(), RpcError>().unwrap())
}

#[test]
fn the_pages_example_of_a_fingerprint_is_what_the_code_computes() {
    let (arguments, outcome) = order_shapes();
    for shape in [&arguments, &outcome] {
        let example = format!("```text\n{}```", shape.text);
        assert!(PAGE.contains(&example), "the page lacks\n{example}");
    }
    for shape in [arguments, outcome, Shape::default()] {
        let fingerprint = format!("`{:#018x}`", shape.fingerprint());
        assert!(PAGE.contains(&fingerprint), "the page lacks {fingerprint}");
    }
}

#[test]
fn the_pages_frames_are_what_the_code_writes_and_reads() {
    let examples = written();
    let on_page: Vec<_> = PAGE.split("```hex\n").skip(1).map(block).collect();
    let written: Vec<_> = examples.iter().map(|(name, frame, _)| (*name, bytes(frame))).collect();
    assert!(on_page == written, "the page should say {written:02X?}");
    for ((name, bytes), (_, frame, reads)) in on_page.iter().zip(examples) {
        let read = FrameDecoder::new(1_024).decode(&mut BytesMut::from(&bytes[..])).unwrap();
        assert_eq!(read.as_ref(), Some(&frame), "{name}");
        reads(frame).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn bytes(frame: &Frame) -> Vec<u8> {
    [&frame.header.to_bytes(frame.payload.len() as u32), &frame.payload[..]].concat()
}

/// The title and the bytes of a block: a line `# title`, then bytes, with comments.
fn block(text: &'static str) -> (&'static str, Vec<u8>) {
    let (block, _) = text.split_once("```").expect("a block ends");
    let (title, rows) = block.split_once('\n').expect("a block has a title");
    let digits = rows.lines().flat_map(|row| row.split('#').next().unwrap_or_default().split_whitespace());
    let bytes = digits.map(|digits| u8::from_str_radix(digits, 16).expect("two hex digits"));
    (title.trim_start_matches("# "), bytes.collect())
}

/// Decodes a frame's payload, and says what is wrong with it.
type Reads = Box<dyn Fn(Frame) -> Result<(), Malformed>>;

fn reads<T: Debug + PartialEq + 'static>(
    expected: T,
    decode: impl Fn(u8, Bytes) -> Result<T, Malformed> + 'static,
) -> Reads {
    Box::new(move |Frame { header, payload }| {
        assert_eq!(decode(header.flags, payload)?, expected);
        Ok(())
    })
}

/// Every example of the page as the code writes it, and how the code reads it.
fn written() -> Vec<(&'static str, Frame, Reads)> {
    let mut frames = vec![];
    let mut add = |name, header, payload: Bytes, reads| frames.push((name, Frame { header, payload }, reads));
    let coded = |codec: Codec, kind, flags, id| Header { kind, flags, codec: codec.id(), id };

    let hello = ClientHello::new(8 << 20);
    add(
        "client hello",
        Header::plain(Kind::Hello, 0),
        hello.encode(),
        reads(hello, |_, payload| ClientHello::decode(payload)),
    );
    let server_hellos =
        [("server hello: welcome", ServerHello::Welcome(welcome())), ("server hello: refusal", ServerHello::refused())];
    for (name, hello) in server_hellos {
        add(
            name,
            Header::plain(Kind::Hello, 0),
            hello.encode(),
            reads(hello, |_, payload| ServerHello::decode(payload)),
        );
    }

    let customer =
        Customer { id: CustomerId(7), address: Some(Address { street: "Main".to_owned(), position: (1.5, -2.0) }) };
    let arguments = |codec| {
        let mut encoder = Encoder::new(codec);
        encoder.push(&customer).and_then(|()| encoder.push(&vec![1u32, 300])).unwrap();
        encoder.finish().into_bytes()
    };
    let mut metadata = Metadata::default();
    metadata.insert("tenant".into(), "blue".into());
    let order = RequestHead { method: 0, time_left: Some(Duration::from_secs(3)), metadata };
    let plain = |method| RequestHead { method, time_left: None, metadata: Metadata::default() };
    let requests = [
        ("request with time left and metadata", Codec::Bincode, order, arguments(Codec::Bincode), 1),
        ("request without", Codec::Bincode, plain(1), Bytes::new(), 2),
        ("request in json", Codec::Json, plain(0), arguments(Codec::Json), 3),
        (
            "request in json, without arguments",
            Codec::Json,
            plain(1),
            Encoder::new(Codec::Json).finish().into_bytes(),
            4,
        ),
    ];
    for (name, codec, head, arguments, id) in requests {
        let mut payload = BytesMut::new();
        head.encode(&mut payload);
        payload.extend_from_slice(&arguments);
        add(
            name,
            coded(codec, Kind::Request, head.flags(), id),
            payload.freeze(),
            reads((head, arguments), RequestHead::decode),
        );
    }

    let state = State::Shipped { at: 1_000, label: vec![0xAA, 0xBB] };
    let ok = |codec| Response::Ok(encode(codec, &state).unwrap().into_bytes());
    let err = |codec| Response::Err(encode(codec, &RpcError::new("sold out")).unwrap().into_bytes());
    let late = Response::Status(Status::new(StatusCode::DeadlineExceeded, "late"));
    let responses = [
        ("response: ok", Codec::Bincode, ok(Codec::Bincode), 1),
        ("response: the service's own error", Codec::Bincode, err(Codec::Bincode), 1),
        ("response: status", Codec::Bincode, late, 1),
        ("response in json: ok", Codec::Json, ok(Codec::Json), 3),
        ("response in json: the service's own error", Codec::Json, err(Codec::Json), 3),
        (
            "response in json: ok, of `close`",
            Codec::Json,
            Response::Ok(encode(Codec::Json, &()).unwrap().into_bytes()),
            4,
        ),
    ];
    for (name, codec, response, id) in responses {
        let (flags, payload) = response.clone().encode();
        add(name, coded(codec, Kind::Response, flags, id), payload, reads(response, Response::decode));
    }

    let bare = [
        ("cancel", Kind::Cancel, 1),
        ("ping", Kind::Ping, 9),
        ("pong", Kind::Pong, 9),
        ("go-away", Kind::GoAway, 0),
        ("go-away echo", Kind::GoAwayEcho, 0),
    ];
    for (name, kind, id) in bare {
        add(name, Header::plain(kind, id), Bytes::new(), reads(Bytes::new(), |_, payload| Ok(payload)));
    }

    add(
        "describe: question",
        Header::plain(Kind::Describe, 3),
        encode_question(1),
        reads(1, |_, payload| decode_question(payload)),
    );
    let (arguments, outcome) = close_shapes();
    let answer = Description { arguments: arguments.text, outcome: outcome.text };
    add(
        "describe: answer",
        Header::plain(Kind::Describe, 3),
        answer.encode(),
        reads(answer, |_, payload| Description::decode(payload)),
    );
    frames
}

fn welcome() -> Welcome {
    let entry = |method: &str, (arguments, outcome): (Shape, Shape)| TableEntry {
        service: "Shop".to_owned(),
        method: method.to_owned(),
        arguments: arguments.fingerprint(),
        outcome: outcome.fingerprint(),
    };
    Welcome {
        leaving: false,
        max_frame: 8 << 20,
        max_in_flight: 1_024,
        incarnation: 0x1122_3344_5566_7788,
        instance: "shop-1".to_owned(),
        methods: vec![entry("order", order_shapes()), entry("close", close_shapes())],
    }
}
