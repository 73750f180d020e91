//! The texts are what two versions of this crate compare, so they are pinned.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::*;

fn text<T: Serialize + DeserializeOwned>() -> String {
    let shape = Shape::of::<T>().unwrap();
    assert_eq!(shape.unknown, Vec::<String>::new());
    shape.text
}

fn same<A: Serialize + DeserializeOwned, B: Serialize + DeserializeOwned>() -> bool {
    Shape::of::<A>().unwrap().fingerprint() == Shape::of::<B>().unwrap().fingerprint()
}

#[derive(Serialize, Deserialize)]
enum State {
    Active,
    Suspended { until: u64 },
    Moved(String),
    Split(u8, Option<Box<State>>),
}

#[derive(Serialize, Deserialize)]
struct User {
    name: String,
    age: u32,
    tags: Vec<String>,
    state: State,
    index: BTreeMap<Color, Point>,
    photo: Vec<u8>,
    digest: [u8; 4],
    pair: (i64, char),
    friends: Vec<User>,
    nothing: (),
}

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Color {
    Red,
    Blue,
}

#[derive(Serialize, Deserialize)]
struct Point {
    x: f64,
    y: Option<f64>,
}

#[test]
fn a_rich_type_reads_line_by_line() {
    assert_eq!(
        text::<User>(),
        "value: struct\n\
         value.name: str\n\
         value.age: u32\n\
         value.tags: seq<str>\n\
         value.state: enum\n\
         value.state::Active: unit\n\
         value.state::Suspended: struct\n\
         value.state::Suspended.until: u64\n\
         value.state::Moved: str\n\
         value.state::Split: (u8, option<^value.state>)\n\
         value.index: map<enum, struct>\n\
         value.index{key}::Red: unit\n\
         value.index{key}::Blue: unit\n\
         value.index{value}.x: f64\n\
         value.index{value}.y: option<f64>\n\
         value.photo: bytes\n\
         value.digest: [u8; 4]\n\
         value.pair: (i64, char)\n\
         value.friends: seq<^value>\n\
         value.nothing: unit\n"
    );
}

#[test]
fn the_fingerprint_is_the_hash_of_the_text() {
    let shape = Shape::of::<(u8, String)>().unwrap();
    assert_eq!(shape.text, "value: (u8, str)\n");
    assert_eq!(shape.fingerprint(), 0x39b4_cf72_bd82_a03f);
}

#[test]
fn lists_read_value_by_value() {
    let arguments = Shape::of_arguments::<(u8, (Point, ()))>().unwrap();
    assert_eq!(arguments.text, "argument 1: u8\nargument 2: struct\nargument 2.x: f64\nargument 2.y: option<f64>\n");
    assert_eq!(Shape::of_arguments::<()>().unwrap(), Shape::default());
    assert_eq!(Shape::of_result::<Vec<u8>, String>().unwrap().text, "ok: bytes\nerror: str\n");
}

mod renamed {
    use super::*;

    #[derive(Serialize, Deserialize)]
    pub(super) struct Place {
        x: f64,
        y: Option<f64>,
    }
    #[derive(Serialize, Deserialize)]
    pub(super) struct Wrapped(Point);
    #[derive(Serialize, Deserialize)]
    pub(super) struct OtherType {
        x: f32,
        y: Option<f64>,
    }
    #[derive(Serialize, Deserialize)]
    pub(super) struct OtherOrder {
        y: Option<f64>,
        x: f64,
    }
    #[derive(Serialize, Deserialize)]
    pub(super) struct OtherName {
        x: f64,
        z: Option<f64>,
    }
    #[derive(Serialize, Deserialize)]
    pub(super) struct OtherInner {
        x: f64,
        y: Option<f32>,
    }
    #[derive(Serialize, Deserialize)]
    pub(super) enum Paint {
        Red,
        Blue,
    }
    #[derive(Serialize, Deserialize)]
    pub(super) enum MorePaint {
        Red,
        Blue,
        Green,
    }
}

#[test]
fn what_does_not_show_in_the_bytes_does_not_count() {
    assert!(same::<Vec<u8>, serde_bytes::ByteBuf>());
    assert!(same::<Point, renamed::Place>());
    assert!(same::<Point, renamed::Wrapped>());
    assert!(same::<Color, renamed::Paint>());
    assert!(same::<u64, usize>());
    assert!(same::<HashMap<u8, String>, BTreeMap<u8, Box<str>>>());
}

#[test]
fn a_nested_type_order_or_name_counts() {
    assert!(!same::<Vec<Point>, Vec<renamed::OtherType>>());
    assert!(!same::<Vec<Point>, Vec<renamed::OtherOrder>>());
    assert!(!same::<Vec<Point>, Vec<renamed::OtherName>>());
    assert!(!same::<Vec<Point>, Vec<renamed::OtherInner>>());
    assert!(!same::<Option<Color>, Option<renamed::MorePaint>>());
    assert!(!same::<u32, i32>());
}

#[test]
fn a_difference_is_told_where_it_is() {
    let texts = [
        Shape::of_arguments::<(Vec<Point>, ())>().unwrap().text,
        Shape::of_arguments::<(Vec<renamed::OtherInner>, ())>().unwrap().text,
    ];
    assert_eq!(difference(&texts[0], &texts[1]), "argument 1[].y: option<f64> here, option<f32> there");
}

#[derive(Serialize, Deserialize)]
struct Tree {
    children: Vec<Tree>,
    parent: Option<Box<Tree>>,
    label: String,
}

#[derive(Serialize, Deserialize)]
struct Link(Option<Box<Link>>);

#[derive(Serialize, Deserialize)]
struct Nested(Vec<Nested>);

#[derive(Serialize, Deserialize)]
enum Expression {
    Add(Box<Expression>, Box<Expression>),
    Call { name: String, arguments: Vec<Statement>, after: Box<Statement> },
    Literal(i64),
}

#[derive(Serialize, Deserialize)]
enum Statement {
    Run(Box<Expression>),
    If(Box<Expression>, Box<Statement>, u8),
    Empty,
}

#[derive(Serialize, Deserialize)]
struct Page<T> {
    items: Vec<T>,
    next: Option<Box<Page<Page<u8>>>>,
}

#[test]
fn recursive_types_end_where_they_meet_themselves() {
    assert_eq!(
        text::<Tree>(),
        "value: struct\nvalue.children: seq<^value>\nvalue.parent: option<^value>\nvalue.label: str\n"
    );
    assert_eq!(text::<Link>(), "value: option<^value>\n");
    assert_eq!(text::<Nested>(), "value: seq<^value>\n");
    assert_eq!(
        text::<Expression>(),
        "value: enum\n\
         value::Add: [^value; 2]\n\
         value::Call: struct\n\
         value::Call.name: str\n\
         value::Call.arguments: seq<enum>\n\
         value::Call.arguments[]::Run: ^value\n\
         value::Call.arguments[]::If: (^value, ^value::Call.arguments[], u8)\n\
         value::Call.arguments[]::Empty: unit\n\
         value::Call.after: enum\n\
         value::Call.after::Run: ^value\n\
         value::Call.after::If: (^value, ^value::Call.after, u8)\n\
         value::Call.after::Empty: unit\n\
         value::Literal: i64\n"
    );
}

#[test]
fn types_that_differ_in_a_parameter_are_not_confused() {
    #[derive(Serialize, Deserialize)]
    struct Both {
        numbers: Page<u8>,
        words: Page<String>,
    }
    let text = text::<Both>();
    assert!(text.contains("value.numbers.items: bytes"), "{text}");
    assert!(text.contains("value.words.items: seq<str>"), "{text}");
}
