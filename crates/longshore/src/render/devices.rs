//! Devices in a list: what each may do, and when it was last used.

use longshore_model::device::Device;
use longshore_model::time::Timestamp;

use super::clean::clean;
use super::columns::{Column, table, tsv};
use super::human;
use super::line::InkLine;
use super::style::{Style, ink};

const COLUMNS: [Column; 5] = [
    Column::left("DEVICE", 0, 8),
    Column::left("MODE", 1, 6),
    Column::left("PAIRED", 3, 6),
    Column::left("LAST HERE", 2, 6),
    Column::left("ID", 4, 8),
];

/// Devices for a person.
pub fn devices_table(devices: &[Device], now: Timestamp, style: &Style) -> String {
    let ago = |at: Timestamp| human::ago(now.millis_since(at));
    let row = |device: &Device| {
        let last = match (device.revoked_at, device.last_used_at) {
            (Some(at), _) if device.unsaved => format!("revoked {}, not saved yet", ago(at)),
            (Some(at), _) => format!("revoked {}", ago(at)),
            (None, Some(at)) => ago(at),
            (None, None) => String::new(),
        };
        let label = if device.revoked_at.is_some() { ink::DIM } else { ink::BOLD };
        let id = device.id.to_string();
        vec![
            InkLine::of(&clean(&device.label), label),
            InkLine::of(&device.mode.to_string(), ink::PLAIN),
            InkLine::of(&ago(device.created_at), ink::DIM),
            InkLine::of(&last, ink::PLAIN),
            InkLine::of(id.get(id.len().saturating_sub(8)..).unwrap_or(&id), ink::DIM),
        ]
    };
    table(&COLUMNS, &devices.iter().map(row).collect::<Vec<_>>(), style)
}

/// Devices for programs: id, label, mode, paired, last here, revoked, a tab between them.
pub fn devices_tsv(devices: &[Device]) -> String {
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let row = |device: &Device| {
        tsv([
            device.id.to_string(),
            device.label.clone(),
            device.mode.to_string(),
            device.created_at.to_string(),
            moment(device.last_used_at),
            moment(device.revoked_at),
        ])
    };
    devices.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_that_a_restart_would_undo_is_told_from_one_that_holds() {
        let device = |unsaved: bool| -> Device {
            serde_json::from_value(serde_json::json!({
                "id": "01931f5e-7a2b-7c3d-8e4f-a1b2c3d4e5f6", "label": "phone", "mode": "full",
                "createdAt": "2026-01-01T00:00:00.000000Z", "revokedAt": "2026-01-01T00:00:00.000000Z",
                "unsaved": unsaved,
            }))
            .unwrap()
        };
        let shown = |unsaved: bool| {
            let now = device(unsaved).created_at.plus_millis(60_000);
            devices_table(&[device(unsaved)], now, &Style { width: 120, ..Style::default() })
        };
        assert!(shown(true).contains("not saved yet") && !shown(false).contains("not saved"));
    }
}
