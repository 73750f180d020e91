//! The hello: versions, limits and the table of methods. Its layout is frozen for all versions.

use bytes::{BufMut, Bytes, BytesMut};

use super::Malformed;
use super::frame::VERSION;
use super::wire::{Fields, put_text16};

/// The longest hello that a server accepts from a client, in bytes.
pub(crate) const MAX_CLIENT_HELLO: u32 = 1_024;

/// The longest hello that a client accepts from a server even if its own largest frame is smaller.
pub(crate) const MAX_SERVER_HELLO: u32 = 1024 * 1024;

const WELCOME: u8 = 0;
const NO_COMMON_VERSION: u8 = 1;

/// What a client says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientHello {
    pub(crate) lowest: u8,
    pub(crate) highest: u8,
    /// The longest payload that the client accepts.
    pub(crate) max_frame: u32,
}

impl ClientHello {
    /// The hello of this version.
    pub(crate) const fn new(max_frame: u32) -> Self {
        Self { lowest: VERSION, highest: VERSION, max_frame }
    }

    pub(crate) fn encode(self) -> Bytes {
        let mut out = BytesMut::with_capacity(6);
        out.put_u8(self.lowest);
        out.put_u8(self.highest);
        out.put_u32_le(self.max_frame);
        out.freeze()
    }

    pub(crate) fn decode(payload: Bytes) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        Ok(Self {
            lowest: fields.u8("the client's lowest version")?,
            highest: fields.u8("the client's highest version")?,
            max_frame: fields.u32("the client's largest frame")?,
        })
    }

    /// Whether the client can speak this side's version.
    pub(crate) const fn speaks_our_version(self) -> bool {
        self.lowest <= VERSION && VERSION <= self.highest
    }
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerHello {
    Welcome(Welcome),
    /// No version in common; these are the server's.
    Refused {
        lowest: u8,
        highest: u8,
    },
}

/// A server's limits, identity and methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) leaving: bool,
    /// The longest payload that the server accepts.
    pub(crate) max_frame: u32,
    /// Unanswered requests that the server accepts on one connection.
    pub(crate) max_in_flight: u32,
    /// Another number each time the instance starts.
    pub(crate) incarnation: u64,
    pub(crate) instance: String,
    pub(crate) methods: Vec<TableEntry>,
}

/// One method that a server answers; its position is its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) service: String,
    pub(crate) method: String,
    pub(crate) arguments: u64,
    pub(crate) outcome: u64,
}

impl ServerHello {
    /// The refusal of this version.
    pub(crate) const fn refused() -> Self {
        Self::Refused { lowest: VERSION, highest: VERSION }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Refused { lowest, highest } => out.put_slice(&[NO_COMMON_VERSION, *lowest, *highest]),
            Self::Welcome(welcome) => {
                out.put_slice(&[WELCOME, VERSION, VERSION, VERSION]);
                welcome.encode(&mut out);
            }
        }
        out.freeze()
    }

    pub(crate) fn decode(payload: Bytes) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        let outcome = fields.u8("the outcome of the hello")?;
        let lowest = fields.u8("the server's lowest version")?;
        let highest = fields.u8("the server's highest version")?;
        match outcome {
            NO_COMMON_VERSION => Ok(Self::Refused { lowest, highest }),
            WELCOME if fields.u8("the chosen version")? != VERSION => {
                Err(Malformed("the server chose a version that was not offered"))
            }
            WELCOME => Welcome::decode(fields).map(Self::Welcome),
            _ => Err(Malformed("the outcome of the hello is neither welcome nor refused")),
        }
    }
}

impl Welcome {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(self.leaving.into());
        out.put_u32_le(self.max_frame);
        out.put_u32_le(self.max_in_flight);
        out.put_u64_le(self.incarnation);
        put_text16(out, &self.instance);
        out.put_u32_le(self.methods.len().try_into().expect("a port has fewer than 2^32 methods"));
        for entry in &self.methods {
            put_text16(out, &entry.service);
            put_text16(out, &entry.method);
            out.put_u64_le(entry.arguments);
            out.put_u64_le(entry.outcome);
        }
    }

    fn decode(mut fields: Fields) -> Result<Self, Malformed> {
        let leaving = fields.u8("leaving or not")? != 0;
        let max_frame = fields.u32("the server's largest frame")?;
        let max_in_flight = fields.u32("the server's largest number in flight")?;
        let incarnation = fields.u64("the incarnation")?;
        let instance = fields.text16("the instance id")?;
        let count = fields.u32("the number of methods")?;
        // The table grows entry by entry: the count is only a claim.
        let methods = (0..count).map(|_| TableEntry::decode(&mut fields)).collect::<Result<_, _>>()?;
        Ok(Self { leaving, max_frame, max_in_flight, incarnation, instance, methods })
    }
}

impl TableEntry {
    fn decode(fields: &mut Fields) -> Result<Self, Malformed> {
        Ok(Self {
            service: fields.text16("the name of a service")?,
            method: fields.text16("the name of a method")?,
            arguments: fields.u64("the fingerprint of the arguments")?,
            outcome: fields.u64("the fingerprint of the result")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn welcome() -> ServerHello {
        ServerHello::Welcome(Welcome {
            leaving: true,
            max_frame: 0x0080_0000,
            max_in_flight: 1024,
            incarnation: 0x1122_3344_5566_7788,
            instance: "a:1".into(),
            methods: vec![TableEntry { service: "S".into(), method: "m".into(), arguments: 1, outcome: 2 }],
        })
    }

    const WELCOME_BYTES: &[u8] = &[
        0, 1, 1, // welcome, versions 1 to 1
        1, // version 1 it is
        1, // leaving
        0, 0, 0x80, 0, // largest frame
        0, 4, 0, 0, // in flight
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, // incarnation
        3, 0, b'a', b':', b'1', // instance
        1, 0, 0, 0, // one method
        1, 0, b'S', 1, 0, b'm', 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn client_hello_bytes_are_pinned() {
        let hello = ClientHello::new(0x0080_0000);
        assert_eq!(hello.encode(), &[1, 1, 0, 0, 0x80, 0][..]);
        assert_eq!(ClientHello::decode(hello.encode()), Ok(hello));
    }

    #[test]
    fn server_hello_bytes_are_pinned() {
        assert_eq!(welcome().encode(), WELCOME_BYTES);
        assert_eq!(ServerHello::decode(Bytes::from_static(WELCOME_BYTES)), Ok(welcome()));
        assert_eq!(ServerHello::refused().encode(), &[1, 1, 1][..]);
        assert_eq!(
            ServerHello::decode(Bytes::from_static(&[1, 2, 3])),
            Ok(ServerHello::Refused { lowest: 2, highest: 3 })
        );
    }

    #[test]
    fn later_fields_are_ignored() {
        let longer = [WELCOME_BYTES, b"later"].concat();
        assert_eq!(ServerHello::decode(longer.into()), Ok(welcome()));
        let hello = ClientHello::decode(Bytes::from_static(&[1, 9, 0, 0, 1, 0, 0xFF])).unwrap();
        assert!(hello.speaks_our_version());
    }

    #[test]
    fn a_cut_hello_is_an_error_wherever_it_is_cut() {
        for length in 0..WELCOME_BYTES.len() {
            assert!(ServerHello::decode(Bytes::from_static(&WELCOME_BYTES[..length])).is_err(), "{length}");
        }
    }

    #[test]
    fn a_claimed_number_of_methods_makes_no_memory() {
        let mut bytes = WELCOME_BYTES[..WELCOME_BYTES.len() - 22].to_vec();
        let count = bytes.len() - 4;
        bytes[count..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(ServerHello::decode(bytes.into()), Err(Malformed("the name of a service")));
    }
}
