//! Places among the connections: how many there are, who has them, and who leaves when there is none left.
//!
//! Whoever has not shown a token yet is a stranger. Strangers and those who are known have places of their own, so that
//! neither can keep the other out, and nobody waits for a place: whoever comes gets one, and the oldest connection of
//! whoever holds the most is ended for it.
//!
//! | bound | what happens there |
//! |---|---|
//! | [`CONNECTIONS`] | the sum of the two below |
//! | [`STRANGERS`] | of the address that holds the most, the oldest connection ends |
//! | [`FROM_AFAR`] | the same, among strangers of other machines: they never end the last of this one |
//! | [`OF_ONE_ADDRESS`] | the oldest of that address ends; this machine is not counted so |
//! | [`KNOWN`] | of the device that holds the most, the oldest connection ends; of the owner's, when there are no others |
//! | [`OF_ONE_DEVICE`] | the oldest of that device ends |

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::id::DeviceId;
use tokio::sync::oneshot;

use crate::intake::Frames;

/// How many connections there may be at once: well below the usual limit of open files.
pub const CONNECTIONS: usize = STRANGERS + KNOWN;
/// How many of them may be of those who have shown no token.
pub const STRANGERS: usize = 128;
/// How many strangers may come from other machines. The other places are kept for this one.
pub const FROM_AFAR: usize = 96;
/// How many strangers may come from one address.
pub const OF_ONE_ADDRESS: usize = 64;
/// How many connections may be of those who are known.
pub const KNOWN: usize = 384;
/// How many connections one device may have.
pub const OF_ONE_DEVICE: usize = 64;

/// Whose a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Party {
    /// Nobody knows; it comes from there.
    Stranger(IpAddr),
    /// A device has shown its token.
    Device(DeviceId),
    /// The owner has.
    Owner,
    /// A program that calls back has.
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

/// All places.
#[derive(Debug, Default)]
pub(crate) struct Berths {
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// In the order in which they came. Whoever is taken out of here hears it at once.
    by_number: BTreeMap<u64, (Party, oneshot::Sender<()>)>,
}

/// One place. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Berth {
    number: u64,
    berths: Arc<Berths>,
    /// What a socket on this connection has begun to say.
    pub(crate) frames: Frames,
}

impl Berths {
    /// A place for whoever comes from there, and what resolves when it has to be given up.
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

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Berth {
    /// Whose connection it turned out to be. One that was a device's stays that until it is somebody else's.
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

impl Taken {
    /// Somebody came in or became known: others leave where there are too many now.
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

    /// Ends the oldest connection of those of these parties that have the most; false when there is none of them.
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

/// The address that a client counts as: all of loopback is one machine, and of IPv6 one network is one client, which has
/// more addresses than could be counted.
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
