//! Announces a listener on the local network, and answers who looks for it (RFC 6762, RFC 6763).
//!
//! Only for listeners that the network reaches: nothing is announced for loopback. What is announced is an address that
//! anybody on the network could find by trying.

mod packet;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};

pub use packet::AnnouncedService;
use packet::LIVES;

/// Where everybody listens.
const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
const PORT: u16 = 5353;
/// The longest message. A longer one is not a question of ours.
const LONGEST: usize = 9_000;
/// When a service is announced after its start.
const ANNOUNCED_AT: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(3)];

/// Announces a service and answers questions for it, until the future is dropped. Without addresses it does nothing.
pub async fn announce(service: AnnouncedService) {
    let group = SocketAddr::V4(SocketAddrV4::new(GROUP, PORT));
    let mut sockets = Vec::new();
    for address in &service.addresses {
        match open(*address) {
            Ok(socket) => sockets.push(socket),
            Err(error) => warn!(%address, %error, "cannot announce {} on this network", service.kind),
        }
    }
    let each = sockets.into_iter().map(|socket| serve(socket, group, &service));
    futures_util::future::join_all(each).await;
}

/// A socket for questions and answers in the network of one address. Other programs of this machine may have one too.
fn open(address: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
    socket.join_multicast_v4(&GROUP, &address)?;
    socket.set_multicast_if_v4(&address)?;
    socket.set_multicast_ttl_v4(255)?;
    UdpSocket::from_std(socket.into())
}

/// Announces to a group, and answers it and whoever asks for an answer of their own.
pub async fn serve(socket: UdpSocket, group: SocketAddr, service: &AnnouncedService) {
    let began = Instant::now();
    let mut announcements = ANNOUNCED_AT.iter().map(|after| began + *after);
    let mut next = announcements.next();
    let mut message = vec![0; LONGEST];
    loop {
        tokio::select! {
            () = sleep_until(next.unwrap_or(began)), if next.is_some() => {
                next = announcements.next();
                send(&socket, &packet::announcement(service, LIVES), group).await;
            }
            received = socket.recv_from(&mut message) => {
                let Ok((length, from)) = received else { continue };
                let Some(answer) = packet::answer(service, message.get(..length).unwrap_or_default(), from.port() == PORT)
                else {
                    continue;
                };
                send(&socket, &answer.bytes, if answer.to_group { group } else { from }).await;
            }
        }
    }
}

async fn send(socket: &UdpSocket, bytes: &[u8], to: SocketAddr) {
    if let Err(error) = socket.send_to(bytes, to).await {
        debug!(%to, %error, "cannot send an announcement");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_service_is_announced_and_found_by_who_asks() {
        let service = AnnouncedService {
            kind: "_openagents._tcp".to_owned(),
            instance: "Longshore".to_owned(),
            host: "boat".to_owned(),
            port: 9099,
            addresses: vec![Ipv4Addr::LOCALHOST],
            text: Vec::new(),
        };
        let bind = async || UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (hub, listener, asker) = (bind().await, bind().await, bind().await);
        let (at, group) = (hub.local_addr().unwrap(), listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { serve(hub, group, &service).await });
        let mut message = vec![0; LONGEST];
        for _ in ANNOUNCED_AT {
            let (length, from) = listener.recv_from(&mut message).await.unwrap();
            assert_eq!(from, at);
            assert!(message[..length].windows(11).any(|part| part == b"_openagents"));
        }
        let ask = |name: &[u8]| {
            let mut question = vec![0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            question.extend(name);
            question.extend([5, b'l', b'o', b'c', b'a', b'l', 0, 0, 1, 0, 1]);
            question
        };
        asker.send_to(b"nonsense", at).await.unwrap();
        asker.send_to(&ask(b"\x05other"), at).await.unwrap();
        asker.send_to(&ask(b"\x04boat"), at).await.unwrap();
        let (length, from) = asker.recv_from(&mut message).await.unwrap();
        assert_eq!((from, &message[..2]), (at, &[0, 9][..]), "the first answer is that to the question");
        assert_eq!(message[length - 4..length], Ipv4Addr::LOCALHOST.octets());
        serving.abort();
    }
}
