//! The messages of mDNS: announcements, questions and answers, as bytes.

use std::net::Ipv4Addr;

/// How long an announcement lives, in seconds.
pub(super) const LIVES: u32 = 120;
/// How long an answer lives for somebody who speaks plain DNS.
const LIVES_FOR_PLAIN: u32 = 10;
/// By this name one lists the kinds of services.
const KINDS: &str = "_services._dns-sd._udp.local";
/// The most questions of a message that are read.
const QUESTIONS: u16 = 64;

const A: u16 = 1;
const PTR: u16 = 12;
const TXT: u16 = 16;
const SRV: u16 = 33;
const ANY: u16 = 255;
const INTERNET: u16 = 1;
/// In a question: answer me alone. In a record: what you knew before is wrong.
const TOP_BIT: u16 = 0x8000;
const RESPONSE: u16 = 0x8400;

/// A service that is announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedService {
    /// The type of service, as in `_http._tcp`.
    pub kind: String,
    /// The name for people.
    pub instance: String,
    /// The name of the machine: one label.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Where the machine is.
    pub addresses: Vec<Ipv4Addr>,
    /// Further properties, as in `key=value`.
    pub text: Vec<String>,
}

/// An answer, and who gets it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServiceAnswer {
    pub(super) bytes: Vec<u8>,
    pub(super) to_group: bool,
}

/// A question.
#[derive(Debug, PartialEq, Eq)]
struct NameQuestion {
    /// The labels of the name, in lower case.
    name: Vec<String>,
    kind: u16,
    class: u16,
}

impl AnnouncedService {
    fn kind_name(&self) -> Vec<String> {
        labels(&format!("{}.local", self.kind))
    }

    fn instance_name(&self) -> Vec<String> {
        // The name for people is one label, whatever is in it.
        [vec![cut(&self.instance)], self.kind_name()].concat()
    }

    fn host_name(&self) -> Vec<String> {
        vec![cut(&self.host), "local".to_owned()]
    }

    fn is_asked(&self, question: &NameQuestion) -> bool {
        let is = |name: &[String]| {
            question.name.len() == name.len()
                && question.name.iter().zip(name).all(|(asked, label)| *asked == label.to_lowercase())
        };
        let wants = |kinds: &[u16]| question.kind == ANY || kinds.contains(&question.kind);
        (question.class & !TOP_BIT == INTERNET || question.class & !TOP_BIT == ANY)
            && ((is(&self.kind_name()) || is(&labels(KINDS))) && wants(&[PTR])
                || is(&self.instance_name()) && wants(&[SRV, TXT])
                || is(&self.host_name()) && wants(&[A]))
    }

    /// All records, and how many they are.
    fn records(&self, lives: u32, flush: u16, out: &mut Vec<u8>) -> u16 {
        let mut count = 0;
        let mut add = |name: &[String], kind, class, data: Vec<u8>| {
            write_name(name, out);
            for number in [kind, class] {
                out.extend(u16::to_be_bytes(number));
            }
            out.extend(lives.to_be_bytes());
            out.extend(u16::try_from(data.len()).unwrap_or(u16::MAX).to_be_bytes());
            out.extend(data);
            count += 1;
        };
        let encoded = |name: &[String]| {
            let mut data = Vec::new();
            write_name(name, &mut data);
            data
        };
        add(&labels(KINDS), PTR, INTERNET, encoded(&self.kind_name()));
        add(&self.kind_name(), PTR, INTERNET, encoded(&self.instance_name()));
        let place = [vec![0, 0, 0, 0], self.port.to_be_bytes().to_vec(), encoded(&self.host_name())].concat();
        add(&self.instance_name(), SRV, INTERNET | flush, place);
        let mut text = Vec::new();
        for property in self.text.iter().map(|property| property.as_bytes()).filter(|bytes| bytes.len() < 256)
        {
            text.push(u8::try_from(property.len()).unwrap_or(u8::MAX));
            text.extend(property);
        }
        if text.is_empty() {
            text.push(0);
        }
        add(&self.instance_name(), TXT, INTERNET | flush, text);
        for address in &self.addresses {
            add(&self.host_name(), A, INTERNET | flush, address.octets().to_vec());
        }
        count
    }
}

/// The announcement of a service. One that lives for no time takes it back.
pub(super) fn announcement(service: &AnnouncedService, lives: u32) -> Vec<u8> {
    let mut records = Vec::new();
    let count = service.records(lives, TOP_BIT, &mut records);
    [header(0, RESPONSE, 0, count), records].concat()
}

/// The answer to a message, if it asks for the service. `from_mdns` is whether the sender speaks mDNS: others expect an
/// answer as of a name server.
pub(super) fn answer(service: &AnnouncedService, message: &[u8], from_mdns: bool) -> Option<ServiceAnswer> {
    let (id, questions) = read(message)?;
    let asked: Vec<&NameQuestion> = questions.iter().filter(|question| service.is_asked(question)).collect();
    if asked.is_empty() {
        return None;
    }
    if from_mdns {
        let to_group = asked.iter().any(|question| question.class & TOP_BIT == 0);
        return Some(ServiceAnswer { bytes: announcement(service, LIVES), to_group });
    }
    let (mut body, mut records) = (Vec::new(), Vec::new());
    for question in &asked {
        write_name(&question.name, &mut body);
        body.extend(question.kind.to_be_bytes());
        body.extend((question.class & !TOP_BIT).to_be_bytes());
    }
    let count = service.records(LIVES_FOR_PLAIN, 0, &mut records);
    let questions = u16::try_from(asked.len()).unwrap_or(u16::MAX);
    Some(ServiceAnswer {
        bytes: [header(id, RESPONSE, questions, count), body, records].concat(),
        to_group: false,
    })
}

fn header(id: u16, flags: u16, questions: u16, answers: u16) -> Vec<u8> {
    [id, flags, questions, answers, 0, 0].into_iter().flat_map(u16::to_be_bytes).collect()
}

fn labels(name: &str) -> Vec<String> {
    name.split('.').map(cut).collect()
}

/// At most as much of a label as one may have.
fn cut(label: &str) -> String {
    let mut end = label.len().min(63);
    while !label.is_char_boundary(end) {
        end -= 1;
    }
    label[..end].to_owned()
}

fn write_name(labels: &[String], out: &mut Vec<u8>) {
    for label in labels.iter().filter(|label| !label.is_empty()) {
        out.push(u8::try_from(label.len()).unwrap_or(u8::MAX));
        out.extend(label.as_bytes());
    }
    out.push(0);
}

/// The id and the questions of a message; none if it is no question or not well formed.
fn read(message: &[u8]) -> Option<(u16, Vec<NameQuestion>)> {
    let number = |at: usize| Some(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]));
    let (id, flags, count) = (number(0)?, number(2)?, number(4)?);
    if flags & 0xf800 != 0 || count > QUESTIONS {
        return None;
    }
    let (mut at, mut questions) = (12, Vec::new());
    for _ in 0..count {
        let (name, after) = read_name(message, at)?;
        questions.push(NameQuestion { name, kind: number(after)?, class: number(after + 2)? });
        at = after + 4;
    }
    Some((id, questions))
}

/// The labels of a name, and where the message goes on behind it. Its end may be a reference to an earlier name.
fn read_name(message: &[u8], at: usize) -> Option<(Vec<String>, usize)> {
    let (mut name, mut at, mut after) = (Vec::new(), at, None);
    // A name has fewer labels than this, so a circle of references ends.
    for _ in 0..128 {
        let length = usize::from(*message.get(at)?);
        match length {
            0 => return Some((name, after.unwrap_or(at + 1))),
            1..64 => {
                let label = message.get(at + 1..at + 1 + length)?;
                name.push(String::from_utf8_lossy(label).to_lowercase());
                at += 1 + length;
            }
            192.. => {
                let low = usize::from(*message.get(at + 1)?);
                after.get_or_insert(at + 2);
                at = (length & 0x3f) << 8 | low;
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> AnnouncedService {
        AnnouncedService {
            kind: "_openagents._tcp".to_owned(),
            instance: "Longshore on Boat. 2".to_owned(),
            host: "boat".to_owned(),
            port: 9099,
            addresses: vec![Ipv4Addr::new(192, 168, 1, 5)],
            text: vec!["protocol=0.2".to_owned()],
        }
    }

    fn question(name: &str, kind: u16, class: u16) -> Vec<u8> {
        let mut message = header(7, 0, 1, 0);
        write_name(&labels(name), &mut message);
        [message, kind.to_be_bytes().to_vec(), class.to_be_bytes().to_vec()].concat()
    }

    /// Name, kind, class, time to live and data of every record.
    fn records(message: &[u8]) -> Vec<(String, u16, u16, u32, Vec<u8>)> {
        let number = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
        let mut at = 12;
        for _ in 0..number(4) {
            at = read_name(message, at).unwrap().1 + 4;
        }
        let mut records = Vec::new();
        for _ in 0..number(6) {
            let (name, after) = read_name(message, at).unwrap();
            let lives = u32::from_be_bytes(message[after + 4..after + 8].try_into().unwrap());
            let length = usize::from(number(after + 8));
            let data = message[after + 10..after + 10 + length].to_vec();
            records.push((name.join("."), number(after), number(after + 2), lives, data));
            at = after + 10 + length;
        }
        assert_eq!(at, message.len(), "nothing is left over");
        records
    }

    #[test]
    fn an_announcement_leads_from_the_kind_to_the_address() {
        let told = records(&announcement(&service(), LIVES));
        let find = |kind: u16| told.iter().find(|record| record.1 == kind && record.0 != KINDS).unwrap();
        let (kind, place, text, address) = (find(PTR), find(SRV), find(TXT), find(A));
        assert_eq!((kind.0.as_str(), kind.2, kind.3), ("_openagents._tcp.local", INTERNET, LIVES));
        assert_eq!(kind.4[..21], *b"\x14Longshore on Boat. 2", "one label, dot and all");
        assert_eq!(place.0, "longshore on boat. 2._openagents._tcp.local");
        assert_eq!(place.4[..6], [0, 0, 0, 0, 0x23, 0x8b]);
        assert_eq!(read_name(&place.4, 6).unwrap().0, ["boat", "local"]);
        assert_eq!(text.4, b"\x0cprotocol=0.2");
        assert_eq!((address.0.as_str(), address.2), ("boat.local", INTERNET | TOP_BIT));
        assert_eq!(address.4, [192, 168, 1, 5]);
        assert!(told.iter().any(|record| record.0 == KINDS));
        assert!(records(&announcement(&service(), 0)).iter().all(|record| record.3 == 0));
    }

    #[test]
    fn only_questions_for_the_service_are_answered() {
        let service = service();
        for (name, kind) in [
            ("_openagents._tcp.local", PTR),
            ("_OpenAgents._TCP.local", ANY),
            (KINDS, PTR),
            ("boat.local", A),
        ] {
            let answered = answer(&service, &question(name, kind, INTERNET), true).unwrap();
            assert!(answered.to_group && records(&answered.bytes).len() == 5, "{name}");
            let alone = answer(&service, &question(name, kind, INTERNET | TOP_BIT), true).unwrap();
            assert!(!alone.to_group, "who asks for an answer of its own gets one");
        }
        for (name, kind, class) in [
            ("_http._tcp.local", PTR, INTERNET),
            ("_openagents._tcp.local", A, INTERNET),
            ("boat.local", SRV, INTERNET),
            ("boat.local", A, 3),
            ("boat", A, INTERNET),
        ] {
            assert_eq!(answer(&service, &question(name, kind, class), true), None, "{name} {kind}");
        }
        let mut response = question("boat.local", A, INTERNET);
        response[2] = 0x84;
        assert_eq!(answer(&service, &response, true), None, "an answer is no question");
    }

    #[test]
    fn whoever_speaks_plain_dns_gets_its_question_back() {
        let asked = question("_openagents._tcp.local", PTR, INTERNET);
        let answered = answer(&service(), &asked, false).unwrap();
        assert!(!answered.to_group);
        assert_eq!(answered.bytes[..2], [0, 7], "its own id");
        assert_eq!(answered.bytes[12..asked.len()], asked[12..], "its own question");
        assert!(
            records(&answered.bytes).iter().all(|record| record.3 == LIVES_FOR_PLAIN && record.2 == INTERNET)
        );
    }

    #[test]
    fn references_lead_back_and_circles_end() {
        let mut message = question("_openagents._tcp.local", PTR, INTERNET);
        message[5] = 2;
        message.extend([0xc0, 12, 0, 12, 0, 1]);
        let (_, questions) = read(&message).unwrap();
        assert_eq!(questions[0], questions[1]);
        let circle = [header(1, 0, 1, 0), vec![0xc0, 12, 0, 12, 0, 1]].concat();
        assert_eq!(read(&circle), None);
        for length in 0..message.len() {
            let _ = answer(&service(), &message[..length], true);
        }
        let mut seed = 1_u32;
        for _ in 0..20_000 {
            let mut harmed = message.clone();
            for _ in 0..3 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = seed as usize / 7 % harmed.len();
                harmed[at] = (seed >> 24) as u8;
            }
            let _ = answer(&service(), &harmed, seed.is_multiple_of(2));
        }
    }
}
