//! All valid tokens: the owner's, and the devices'.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::device::{Device, DeviceMode, DeviceSigner, StoredDevice};
use longshore_model::id::DeviceId;
use longshore_model::time::Timestamp;
use longshore_session::{Hub, HubError};
use subtle::ConstantTimeEq;
use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::prove::{PROVABLE, key_of};
use super::token::{Token, hash};
use super::{Access, Caller, Denial, Who, most_of};
use crate::again;
use crate::pair::label::told_apart;
use crate::problem::Problem;

/// How precisely the hub records when a device was last used.
const SEEN_EVERY_MS: u64 = 60_000;

/// The folder of the notes that name the devices of listeners.
const LISTENERS: &str = "listener";
/// How many such notes there may be.
const MOST_LISTENERS: usize = 64;

/// Stores a new token of the owner for the next start.
pub type Keep = Box<dyn Fn(&Token) -> std::io::Result<()> + Send + Sync>;

/// The owner's token, and how a new one is stored.
pub struct Owner {
    /// The token. An empty token is never valid.
    pub token: Token,
    /// None if the token comes from outside, so the hub cannot change it.
    pub keep: Option<Keep>,
}

/// All valid tokens.
pub struct Keys {
    hub: Hub,
    keep: Option<Keep>,
    held: Mutex<KeyState>,
    /// Makes every connection check whether it may stay.
    changed: watch::Sender<()>,
    /// Locked while a device is written, so that a device's last use does not overwrite its revocation.
    writing: tokio::sync::Mutex<()>,
}

struct KeyState {
    /// The hash of the owner's token; none if the token is never valid.
    owner: Option<[u8; 32]>,
    /// Whether the hub proves that it knows the owner's token.
    proves: bool,
    rotation: u64,
    devices: HashMap<[u8; 32], Device>,
    /// The keys of the devices that sign when they connect, with the hash under which each device is held.
    signers: Vec<([u8; 32], DeviceSigner)>,
    /// Devices that are revoked here but not yet in the log.
    unsaved: HashSet<DeviceId>,
}

impl KeyState {
    /// A device as the log keeps it.
    fn stored(&self, id: DeviceId) -> Option<StoredDevice> {
        let (hash, device) = self.devices.iter().find(|(_, device)| device.id == id)?;
        let signer = self.signers.iter().find(|(of, _)| of == hash).map(|(_, signer)| signer.clone());
        Some(StoredDevice { device: device.clone(), token_hash: *hash, signer })
    }

    fn is_revoked(&self, id: DeviceId) -> bool {
        self.devices.values().any(|known| known.id == id && known.revoked_at.is_some())
    }
}

/// The author of something that others use later. It is valid as long as its author's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Maker {
    /// The device; none for the owner.
    pub(crate) device: Option<DeviceId>,
    rotation: u64,
}

#[cfg(test)]
impl Maker {
    pub(crate) fn of(device: Option<DeviceId>) -> Self {
        Self { device, rotation: 0 }
    }
}

/// The result of looking a token up.
pub(crate) enum TokenLookup {
    Caller(Caller),
    Revoked,
    Unknown,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(…)")
    }
}

impl Keys {
    /// Loads the devices of the log, beside the owner's token.
    pub(crate) async fn load(hub: Hub, owner: Owner) -> Result<Arc<Self>, HubError> {
        let devices = hub.devices().await?;
        let signer = |stored: &StoredDevice| Some((stored.token_hash, stored.signer.clone()?));
        let signers = devices.iter().filter_map(signer).collect();
        let devices = devices.into_iter().map(|stored| (stored.token_hash, stored.device)).collect();
        let Owner { token, keep } = owner;
        let owner = (!token.reveal().is_empty()).then(|| token.hash());
        let proves = token.reveal().len() >= PROVABLE;
        let held =
            Mutex::new(KeyState { owner, proves, rotation: 0, devices, signers, unsaved: HashSet::new() });
        Ok(Arc::new(Self { hub, keep, held, changed: watch::Sender::new(()), writing: Default::default() }))
    }

    /// Looks a token up.
    pub(crate) fn recognise(self: &Arc<Self>, token: &Token) -> TokenLookup {
        let offered = hash(token.reveal());
        let held = self.held();
        if held.owner.is_some_and(|owner| bool::from(owner.ct_eq(&offered))) {
            let (who, rotation) = (Who::Owner, held.rotation);
            return TokenLookup::Caller(Caller { who, keys: Arc::clone(self), rotation });
        }
        self.came_in(held, &offered)
    }

    /// Looks up the device that calls itself by this name and whose key is the right one. Of several, the one that was
    /// not revoked.
    pub(crate) fn recognise_signer(
        self: &Arc<Self>,
        name: &str,
        is_right: impl Fn(&[u8; 32]) -> bool,
    ) -> TokenLookup {
        let held = self.held();
        let named = held.signers.iter().filter(|(_, signer)| signer.name == name && is_right(&signer.key));
        let named: Vec<[u8; 32]> = named.map(|(hash, _)| *hash).collect();
        let is_good =
            |hash: &&[u8; 32]| held.devices.get(*hash).is_some_and(|device| device.revoked_at.is_none());
        match named.iter().find(is_good).or(named.first()).copied() {
            Some(hash) => self.came_in(held, &hash),
            None => TokenLookup::Unknown,
        }
    }

    /// The caller of the device that is held under this hash.
    fn came_in(self: &Arc<Self>, mut held: MutexGuard<'_, KeyState>, hash: &[u8; 32]) -> TokenLookup {
        let now = self.hub.now();
        let rotation = held.rotation;
        let caller = |who| TokenLookup::Caller(Caller { who, keys: Arc::clone(self), rotation });
        let Some(device) = held.devices.get_mut(hash) else { return TokenLookup::Unknown };
        if device.revoked_at.is_some() {
            return TokenLookup::Revoked;
        }
        self.was_seen(device, now);
        caller(Who::Device(device.clone()))
    }

    /// Notes that a device uses the hub now.
    fn was_seen(self: &Arc<Self>, device: &mut Device, now: Timestamp) {
        if device.last_used_at.is_none_or(|last| now.millis_since(last) >= SEEN_EVERY_MS) {
            device.last_used_at = Some(now);
            let (keys, id) = (Arc::clone(self), device.id);
            tokio::spawn(async move {
                if let Err(error) = keys.write(id).await {
                    warn!(device = %id, %error, "cannot save when a device was last seen");
                }
            });
        }
    }

    /// The caller of a listener whose callers all are this device; none if the device is revoked.
    pub(crate) fn caller(self: &Arc<Self>, id: DeviceId) -> Option<Caller> {
        let now = self.hub.now();
        let mut held = self.held();
        let rotation = held.rotation;
        let device = held.devices.values_mut().find(|known| known.id == id && known.revoked_at.is_none())?;
        self.was_seen(device, now);
        let who = Who::Device(device.clone());
        Some(Caller { who, keys: Arc::clone(self), rotation })
    }

    /// The device of a listener whose callers have no token. It is made once, and from then on it is the same one, also
    /// if it is revoked: whoever revokes it does not want it back at the next start.
    pub(crate) async fn device_of_listener(
        &self,
        name: &str,
        label: &str,
        mode: DeviceMode,
    ) -> Result<Device, Problem> {
        let noted = self.hub.note(&format!("{LISTENERS}/{name}")).await?;
        let known = noted.and_then(|id| id.parse::<DeviceId>().ok());
        let set = |id| self.change(id, |device, _| device.mode = mode);
        if let Some(device) = known.and_then(set) {
            self.write(device.id).await?;
            return Ok(device);
        }
        let (_, device) = self.add(label.to_owned(), mode).await?;
        self.hub.put_note_among(LISTENERS, name, device.id.to_string(), MOST_LISTENERS).await?;
        Ok(device)
    }

    /// Forgets the device of a listener that is off, and revokes it. The next one that is turned on gets a new device.
    pub(crate) async fn forget_listener(self: &Arc<Self>, name: &str) -> Result<(), Problem> {
        let name = format!("{LISTENERS}/{name}");
        let Some(id) = self.hub.note(&name).await?.and_then(|id| id.parse::<DeviceId>().ok()) else {
            return Ok(());
        };
        let is_there = self.held().devices.values().any(|known| known.id == id && known.revoked_at.is_none());
        if is_there {
            self.revoke(id).await?;
        }
        self.hub.drop_note(&name).await?;
        Ok(())
    }

    /// The hash of the token with this name, if the hub proves that it knows the token. Revoked tokens count
    /// too: their devices then learn that they are revoked.
    pub(super) fn by_name(&self, name: &str) -> Option<[u8; 32]> {
        let held = self.held();
        let mut known = held.owner.iter().filter(|_| held.proves).chain(held.devices.keys());
        known.find(|hash| key_of(hash) == name).copied()
    }

    /// All devices, in the order in which they were paired.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let held = self.held();
        let listed =
            |device: &Device| Device { unsaved: held.unsaved.contains(&device.id), ..device.clone() };
        let mut devices: Vec<Device> = held.devices.values().map(listed).collect();
        devices.sort_by_key(|device| device.id);
        devices
    }

    /// Whether a device may do this; none is the owner.
    pub(crate) fn may(&self, device: Option<DeviceId>, access: Access) -> bool {
        let Some(id) = device else { return true };
        let held = self.held();
        let known = held.devices.values().find(|known| known.id == id && known.revoked_at.is_none());
        known.is_some_and(|device| access <= most_of(device.mode))
    }

    /// Adds a device and returns its token, which nobody can read again.
    pub(crate) async fn add(&self, label: String, mode: DeviceMode) -> Result<(Token, Device), Problem> {
        self.add_with(label, mode, None).await
    }

    /// Adds a device that signs when it connects. A device that was paired with the same key before is revoked: it is
    /// this one.
    pub(crate) async fn add_signer(
        self: &Arc<Self>,
        label: String,
        mode: DeviceMode,
        signer: DeviceSigner,
    ) -> Result<Device, Problem> {
        let key = signer.key;
        let earlier: Vec<DeviceId> = {
            let held = self.held();
            let same = held.signers.iter().filter(|(_, signer)| signer.key == key);
            let devices = same.filter_map(|(hash, _)| held.devices.get(hash));
            devices.filter(|device| device.revoked_at.is_none()).map(|device| device.id).collect()
        };
        for device in earlier {
            self.revoke(device).await?;
        }
        // Its token is forgotten here, so that it opens nothing.
        Ok(self.add_with(label, mode, Some(signer)).await?.1)
    }

    async fn add_with(
        &self,
        label: String,
        mode: DeviceMode,
        signer: Option<DeviceSigner>,
    ) -> Result<(Token, Device), Problem> {
        let token = Token::random().map_err(|_| Problem::our_fault())?;
        let (id, now) = self.hub.new_device();
        let label = {
            let held = self.held();
            let here = held.devices.values().filter(|device| device.revoked_at.is_none());
            let taken: Vec<&str> = here.map(|device| device.label.as_str()).collect();
            told_apart(label, &taken)
        };
        let device = Device {
            id,
            label,
            mode,
            created_at: now,
            last_used_at: Some(now),
            revoked_at: None,
            unsaved: false,
        };
        let token_hash = token.hash();
        let stored = StoredDevice { device: device.clone(), token_hash, signer: signer.clone() };
        self.hub.put_device(stored).await?;
        {
            let mut held = self.held();
            held.devices.insert(token_hash, device.clone());
            held.signers.extend(signer.map(|signer| (token_hash, signer)));
        }
        info!(device = %id, label = %device.label, %mode, "a device was paired");
        Ok((token, device))
    }

    /// Revokes a device: its token opens nothing any more, and its connections end. If the log cannot record
    /// that, the hub tries again until it can, because the next start would not know of it.
    pub(crate) async fn revoke(self: &Arc<Self>, id: DeviceId) -> Result<Device, Problem> {
        let revoked = self.change(id, |device, now| {
            device.revoked_at.get_or_insert(now);
        });
        let device = revoked.ok_or_else(Problem::unknown_device)?;
        self.changed.send_replace(());
        info!(device = %id, label = %device.label, "a device was revoked");
        let Err(error) = self.write(id).await else { return Ok(device) };
        warn!(device = %id, %error, "cannot save yet that a device was revoked; the hub tries again");
        let is_first = {
            let mut held = self.held();
            let is_first = held.unsaved.is_empty();
            held.unsaved.insert(id);
            is_first
        };
        if is_first {
            again::until_done(Arc::downgrade(self), |keys| async move { keys.write_unsaved().await });
        }
        Err(Problem::unsaved_revocation(error))
    }

    /// Makes a new token for the owner. All connections end; devices may reconnect.
    pub(crate) fn rotate(&self) -> Result<Token, Problem> {
        let keep = self.keep.as_ref().ok_or_else(Problem::token_fixed)?;
        let token = Token::random().map_err(|_| Problem::our_fault())?;
        keep(&token).map_err(|error| {
            warn!(%error, "cannot save the new token");
            Problem::token_not_kept(&error)
        })?;
        {
            let mut held = self.held();
            held.owner = Some(token.hash());
            held.proves = true;
            held.rotation += 1;
        }
        self.changed.send_replace(());
        info!("the owner's token was rotated");
        Ok(token)
    }

    pub(super) async fn until_dismissed(&self, caller: &Caller) {
        self.until(|| self.is_dismissed(caller).then_some(())).await;
    }

    pub(super) async fn until_out(&self, caller: &Caller) -> Denial {
        self.until(|| self.why_out(caller)).await
    }

    async fn until<T>(&self, is_so: impl Fn() -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if let Some(so) = is_so() {
                return so;
            }
            // The sender is ours, so that it cannot be gone.
            let _ = changed.changed().await;
        }
    }

    /// Why a caller's token is not valid any more. Unlike [`Keys::is_dismissed`], this lets a device finish
    /// its request when only the owner's token was rotated.
    pub(super) fn why_out(&self, caller: &Caller) -> Option<Denial> {
        let held = self.held();
        match caller.device() {
            None => (held.rotation != caller.rotation).then_some(Denial::Rotated),
            Some(id) => held.is_revoked(id).then_some(Denial::Revoked),
        }
    }

    /// The author of something that is made now.
    pub(crate) fn maker(&self, device: Option<DeviceId>) -> Maker {
        Maker { device, rotation: self.held().rotation }
    }

    /// Whether this author's token is still valid.
    pub(crate) fn vouches(&self, maker: Maker) -> bool {
        let held = self.held();
        held.rotation == maker.rotation && !maker.device.is_some_and(|id| held.is_revoked(id))
    }

    fn is_dismissed(&self, caller: &Caller) -> bool {
        let held = self.held();
        held.rotation != caller.rotation || caller.device().is_some_and(|id| held.is_revoked(id))
    }

    fn change(&self, id: DeviceId, change: impl FnOnce(&mut Device, Timestamp)) -> Option<Device> {
        let now = self.hub.now();
        let mut held = self.held();
        let device = held.devices.values_mut().find(|device| device.id == id)?;
        change(device, now);
        Some(device.clone())
    }

    /// Writes the current state of a device.
    async fn write(&self, id: DeviceId) -> Result<(), HubError> {
        let _turn = self.writing.lock().await;
        let found = self.held().stored(id);
        match found {
            Some(stored) => {
                let is_revoked = stored.device.revoked_at.is_some();
                self.hub.put_device(stored).await?;
                if is_revoked {
                    self.held().unsaved.remove(&id);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Tries to record the unrecorded revocations. Returns whether none is left.
    async fn write_unsaved(&self) -> bool {
        let unsaved: Vec<DeviceId> = self.held().unsaved.iter().copied().collect();
        for id in unsaved {
            if let Err(error) = self.write(id).await {
                debug!(device = %id, %error, "still cannot save that a device was revoked");
                return false;
            }
            info!(device = %id, "saved that a device was revoked");
        }
        self.held().unsaved.is_empty()
    }

    fn held(&self) -> MutexGuard<'_, KeyState> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
