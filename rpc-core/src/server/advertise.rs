//! Which address is registered when none is named.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Addresses that stand for elsewhere (reserved for documentation), by which the system shows the interface it would leave by.
const ELSEWHERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];
/// Any port will do: nothing is sent to it.
const ANY_PORT: u16 = 9;

/// The address under which others reach a listener on `address`: itself, or that of the machine if it listens on every interface.
/// `None` if the machine has none that others could use.
pub(super) fn reachable(address: SocketAddr) -> Option<SocketAddr> {
    derive(address, source_towards)
}

/// See [`reachable`]; `source` tells the machine's address on the way to another.
fn derive(address: SocketAddr, source: impl Fn(IpAddr) -> io::Result<IpAddr>) -> Option<SocketAddr> {
    if !address.ip().is_unspecified() {
        return Some(address);
    }
    let target = ELSEWHERE.into_iter().find(|target| target.is_ipv4() == address.is_ipv4())?;
    let ip = source(target).ok().filter(is_usable)?;
    Some(SocketAddr::new(ip, address.port()))
}

/// Connecting a UDP socket chooses the route, and with it the address, and sends nothing.
fn source_towards(target: IpAddr) -> io::Result<IpAddr> {
    let any = if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((target, ANY_PORT))?;
    Ok(socket.local_addr()?.ip())
}

/// Whether others can reach this machine by the address. Link-local ones mean something else on every link.
fn is_usable(ip: &IpAddr) -> bool {
    let is_link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(ip.is_unspecified() || ip.is_loopback() || is_link_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(address: &str, source: &str) -> Option<String> {
        let source: IpAddr = source.parse().unwrap();
        derive(address.parse().unwrap(), |_| Ok(source)).map(|address| address.to_string())
    }

    #[test]
    fn an_address_that_is_one_stays_as_it_is() {
        for address in ["127.0.0.1:9000", "10.0.0.1:9000", "[::1]:9000", "[fe80::1]:9000"] {
            assert_eq!(derived(address, "10.0.0.7").as_deref(), Some(address));
        }
    }

    #[test]
    fn every_interface_becomes_the_address_of_the_machine_and_keeps_the_port() {
        assert_eq!(derived("0.0.0.0:9000", "10.0.0.7").as_deref(), Some("10.0.0.7:9000"));
        assert_eq!(derived("[::]:9000", "fd00::7").as_deref(), Some("[fd00::7]:9000"));
    }

    #[test]
    fn the_machine_is_asked_for_an_address_of_the_family_that_is_listened_on() {
        for (address, is_ipv4) in [("0.0.0.0:1", true), ("[::]:1", false)] {
            let asked = derive(address.parse().unwrap(), |target| {
                assert_eq!(target.is_ipv4(), is_ipv4);
                Ok(target)
            });
            assert!(asked.is_some());
        }
    }

    #[test]
    fn what_others_cannot_reach_is_no_address() {
        for source in ["0.0.0.0", "127.0.0.1", "169.254.1.1"] {
            assert_eq!(derived("0.0.0.0:9000", source), None);
        }
        for source in ["::", "::1", "fe80::1"] {
            assert_eq!(derived("[::]:9000", source), None);
        }
        assert_eq!(derive("0.0.0.0:1".parse().unwrap(), |_| Err(io::ErrorKind::NetworkUnreachable.into())), None);
    }
}
