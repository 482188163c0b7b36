//! Places for connections: how many there are, who has them, and which connection ends when all are taken.
//!
//! A caller that has not shown a token yet is a stranger. Strangers and known callers have separate places, so neither
//! can keep the other out. Nobody waits for a place: the oldest connection of the caller with the most connections ends
//! instead.
//!
//! | bound | what happens there |
//! |---|---|
//! | [`CONNECTIONS`] | the sum of [`STRANGERS`] and [`KNOWN`] |
//! | [`STRANGERS`] | the oldest connection of the address with the most connections ends |
//! | [`FROM_AFAR`] | the same among strangers of other machines, who never end the last one of this machine |
//! | [`OF_ONE_ADDRESS`] | the oldest connection of that address ends; this machine has no such bound |
//! | [`KNOWN`] | the oldest connection of the device with the most ends; the owner's only if there are no others |
//! | [`OF_ONE_DEVICE`] | the oldest connection of that device ends |

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::id::DeviceId;
use tokio::sync::oneshot;

use crate::intake::Frames;

/// The most connections at once, well below the usual limit of open files.
pub const CONNECTIONS: usize = STRANGERS + KNOWN;
/// The most connections without a token.
pub const STRANGERS: usize = 128;
/// The most connections without a token from other machines. The remaining places are for this machine.
pub const FROM_AFAR: usize = 96;
/// The most connections without a token from one address.
pub const OF_ONE_ADDRESS: usize = 64;
/// The most connections with a token.
pub const KNOWN: usize = 384;
/// The most connections of one device.
pub const OF_ONE_DEVICE: usize = 64;

/// The owner of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Party {
    /// Unknown so far; the connection comes from this address.
    Stranger(IpAddr),
    /// A device, which has shown its token.
    Device(DeviceId),
    /// The owner, who has shown the token.
    Owner,
    /// A program that calls back, which has shown its token.
    Program,
}

impl Party {
    fn is_stranger(self) -> bool {
        matches!(self, Party::Stranger(_))
    }

    fn is_from_afar(self) -> bool {
        matches!(self, Party::Stranger(from) if !from.is_loopback())
    }

    fn is_device(self) -> bool {
        matches!(self, Party::Device(_))
    }
}

/// All places for connections.
#[derive(Debug, Default)]
pub(crate) struct Berths {
    taken: Mutex<BerthTable>,
}

#[derive(Debug, Default)]
struct BerthTable {
    next: u64,
    /// The connections in the order in which they came. A connection that is removed here ends at once.
    by_number: BTreeMap<u64, (Party, oneshot::Sender<()>)>,
}

/// One place. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Berth {
    number: u64,
    berths: Arc<Berths>,
    /// The unfinished messages of a socket on this connection.
    pub(crate) frames: Frames,
}

impl Berths {
    /// Takes a place for a connection from this address. The receiver resolves when the connection must end.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr) -> (Arc<Berth>, oneshot::Receiver<()>) {
        let (leave, left) = oneshot::channel();
        let mut taken = self.taken();
        let party = Party::Stranger(party_address(from));
        let number = taken.next;
        taken.next += 1;
        taken.by_number.insert(number, (party, leave));
        taken.make_room(party);
        drop(taken);
        (Arc::new(Berth { number, berths: Arc::clone(self), frames: Frames::default() }), left)
    }

    fn taken(&self) -> MutexGuard<'_, BerthTable> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Berth {
    /// Records the owner of the connection. A device's connection stays the device's until another owner
    /// shows a token.
    pub(crate) fn belongs_to(&self, party: Party) {
        let mut taken = self.berths.taken();
        let Some((known, _)) = taken.by_number.get_mut(&self.number) else { return };
        if *known != party {
            *known = party;
            taken.make_room(party);
        }
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        self.berths.taken().by_number.remove(&self.number);
    }
}

impl BerthTable {
    /// Ends other connections if there are too many now.
    fn make_room(&mut self, party: Party) {
        match party {
            Party::Stranger(_) => {
                if party.is_from_afar() && self.count(|of| of == party) > OF_ONE_ADDRESS {
                    self.end_oldest(|of| of == party);
                }
                if party.is_from_afar() && self.count(Party::is_from_afar) > FROM_AFAR {
                    self.end_of_most(Party::is_from_afar);
                }
                if self.count(Party::is_stranger) > STRANGERS {
                    self.end_of_most(Party::is_stranger);
                }
            }
            Party::Device(_) | Party::Owner | Party::Program => {
                if party.is_device() && self.count(|of| of == party) > OF_ONE_DEVICE {
                    self.end_oldest(|of| of == party);
                }
                let is_known = |of: Party| !of.is_stranger();
                if self.count(is_known) > KNOWN && !self.end_of_most(Party::is_device) {
                    self.end_oldest(is_known);
                }
            }
        }
    }

    fn count(&self, of: impl Fn(Party) -> bool) -> usize {
        self.by_number.values().filter(|(party, _)| of(*party)).count()
    }

    fn end_oldest(&mut self, of: impl Fn(Party) -> bool) {
        let oldest = self.by_number.iter().find(|(_, (party, _))| of(*party)).map(|(number, _)| *number);
        oldest.map(|oldest| self.by_number.remove(&oldest));
    }

    /// Ends the oldest connection of the party that has the most, among these parties; returns false if there
    /// is none.
    fn end_of_most(&mut self, among: impl Fn(Party) -> bool) -> bool {
        let mut counts: HashMap<Party, usize> = HashMap::new();
        for (party, _) in self.by_number.values().filter(|(party, _)| among(*party)) {
            *counts.entry(*party).or_default() += 1;
        }
        let Some(most) = counts.values().copied().max() else { return false };
        self.end_oldest(|of| counts.get(&of) == Some(&most));
        true
    }
}

/// The address as which a client counts. All of loopback is one machine, and an IPv6 network is one client,
/// because it has more addresses than could be counted.
pub(crate) fn party_address(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        ip if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str) -> Party {
        Party::Device(DeviceId::of_words(&[name]))
    }

    /// Comes from there, so often: the places that it was given.
    fn come(berths: &Arc<Berths>, from: [u8; 4], times: usize) -> Vec<(Arc<Berth>, oneshot::Receiver<()>)> {
        (0..times).map(|_| berths.enter(from.into())).collect()
    }

    fn stays((_, left): &mut (Arc<Berth>, oneshot::Receiver<()>)) -> bool {
        left.try_recv() == Err(oneshot::error::TryRecvError::Empty)
    }

    fn staying(held: &mut [(Arc<Berth>, oneshot::Receiver<()>)]) -> usize {
        held.iter_mut().filter_map(|held| stays(held).then_some(())).count()
    }

    #[test]
    fn whoever_comes_gets_a_place_and_the_greediest_stranger_gives_it() {
        let berths = Arc::new(Berths::default());
        let mut phone = come(&berths, [10, 0, 0, 7], 1);
        let mut flood = come(&berths, [127, 9, 9, 9], 500);
        assert_eq!(staying(&mut flood), STRANGERS - 1, "those that came last");
        assert!(stays(&mut flood[499]) && !stays(&mut flood[0]));
        assert!(stays(&mut phone[0]), "one of another address is not the one to go");
        let mut far = come(&berths, [10, 0, 0, 8], 200);
        assert_eq!(staying(&mut far), OF_ONE_ADDRESS);
        drop((flood, far));
        let mut again = come(&berths, [127, 0, 0, 1], STRANGERS - 1);
        assert_eq!(staying(&mut again), STRANGERS - 1, "what was given back can be had");
    }

    #[test]
    fn many_addresses_leave_this_machine_its_places_and_end_the_oldest_of_themselves() {
        let berths = Arc::new(Berths::default());
        let mut here = come(&berths, [127, 0, 0, 1], STRANGERS - FROM_AFAR);
        let far = |at: usize| [10, 0, (at / 200) as u8, (at % 200) as u8];
        let mut flood: Vec<_> = (0..1_000).flat_map(|at| come(&berths, far(at), 1)).collect();
        assert_eq!(staying(&mut here), STRANGERS - FROM_AFAR);
        assert_eq!(staying(&mut flood), FROM_AFAR);
        assert_eq!(staying(&mut flood[1_000 - FROM_AFAR..]), FROM_AFAR, "those that came last");
        let mut more = come(&berths, [127, 0, 0, 1], 1);
        assert!(stays(&mut more[0]) && staying(&mut flood) == FROM_AFAR);
    }

    #[test]
    fn strangers_end_nobody_who_is_known_and_a_device_not_the_owner() {
        let berths = Arc::new(Berths::default());
        let mut owner = come(&berths, [127, 0, 0, 1], 1);
        owner[0].0.belongs_to(Party::Owner);
        let mut greedy = Vec::new();
        for at in 0..10 {
            for mut held in come(&berths, [127, 0, 0, 1], 100) {
                held.0.belongs_to(device(&at.to_string()));
                assert!(stays(&mut held), "who comes gets in");
                greedy.push(held);
            }
        }
        assert_eq!(staying(&mut greedy), KNOWN - 1);
        come(&berths, [127, 0, 0, 1], 1_000);
        assert!(stays(&mut owner[0]));
        let mut owners = come(&berths, [127, 0, 0, 1], 100);
        owners.iter().for_each(|(berth, _)| berth.belongs_to(Party::Owner));
        assert_eq!(staying(&mut owners), 100, "devices make room for the owner");
        assert_eq!(staying(&mut greedy), KNOWN - 101);
    }

    #[test]
    fn a_network_of_many_addresses_is_one_client() {
        let network = |text: &str| party_address(text.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::1"), network("127.3.2.1"));
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
    }
}
