//! Devices and where they want to be woken: small tables, written whole.

use longshore_model::device::{StoredDevice, StoredPush};
use longshore_model::id::DeviceId;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::sqlite_error::SqliteError;

pub(super) fn put(writer: &Connection, stored: &StoredDevice) -> Result<u64, SqliteError> {
    let device = serde_json::to_string(&stored.device)?;
    let changed = writer
        .prepare_cached(
            "INSERT INTO devices (id, hash, device) VALUES (?1, ?2, ?3) \
             ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, device = excluded.device",
        )?
        .execute(params![stored.device.id.0.as_bytes(), stored.token_hash, device])?;
    Ok(changed as u64)
}

pub(super) fn all(reader: &Connection) -> Result<Vec<StoredDevice>, SqliteError> {
    let mut statement = reader.prepare_cached("SELECT hash, device FROM devices ORDER BY id")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, [u8; 32]>(0)?, row.get::<_, String>(1)?)))?;
    rows.map(|row| {
        let (token_hash, device) = row?;
        Ok(StoredDevice { device: serde_json::from_str(&device)?, token_hash })
    })
    .collect()
}

pub(super) fn put_push(writer: &Connection, stored: &StoredPush) -> Result<u64, SqliteError> {
    let subscription = serde_json::to_string(&stored.subscription)?;
    let device = stored.device.as_ref().map(|device| device.0.as_bytes().as_slice());
    let changed = writer
        .prepare_cached(
            "INSERT INTO pushes (endpoint, device, subscription) VALUES (?1, ?2, ?3) \
             ON CONFLICT (endpoint) DO UPDATE \
             SET device = excluded.device, subscription = excluded.subscription",
        )?
        .execute(params![stored.subscription.endpoint, device, subscription])?;
    Ok(changed as u64)
}

pub(super) fn drop_push(writer: &Connection, endpoint: &str) -> Result<u64, SqliteError> {
    Ok(writer.execute("DELETE FROM pushes WHERE endpoint = ?1", [endpoint])? as u64)
}

pub(super) fn pushes(reader: &Connection) -> Result<Vec<StoredPush>, SqliteError> {
    let mut statement = reader.prepare_cached("SELECT device, subscription FROM pushes ORDER BY endpoint")?;
    let rows =
        statement.query_map([], |row| Ok((row.get::<_, Option<[u8; 16]>>(0)?, row.get::<_, String>(1)?)))?;
    rows.map(|row| {
        let (device, subscription) = row?;
        let device = device.map(|id| DeviceId(Uuid::from_bytes(id)));
        Ok(StoredPush { device, subscription: serde_json::from_str(&subscription)? })
    })
    .collect()
}
