//! The key of a vault, and the file that it lies in.

use super::{VaultError, random};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};
use zeroize::Zeroizing;

/// The key that everything in a vault is sealed under.
#[derive(Clone)]
pub struct VaultKey(pub(super) Zeroizing<[u8; 32]>);

impl std::fmt::Debug for VaultKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VaultKey(hidden)")
    }
}

impl VaultKey {
    /// A new key, kept nowhere.
    pub fn draw() -> Self {
        Self(Zeroizing::new(random()))
    }

    /// Reads the key from its file; where there is none and `create` says so, draws one and keeps it there, readable by its
    /// owner alone.
    ///
    /// # Errors
    /// [`VaultError::KeyFile`] or [`VaultError::KeySize`].
    pub fn load(path: &Path, create: bool) -> Result<Self, VaultError> {
        match fs::read(path).map(Zeroizing::new) {
            Ok(bytes) => {
                let key = bytes
                    .as_slice()
                    .try_into()
                    .map_err(|_| VaultError::KeySize { path: path.to_owned(), bytes: bytes.len() })?;
                Ok(Self(Zeroizing::new(key)))
            }
            Err(why) if why.kind() == io::ErrorKind::NotFound && create => {
                let key = Self::draw();
                key.keep(path).map_err(|why| VaultError::KeyFile {
                    path: path.to_owned(),
                    action: "made",
                    why,
                })?;
                Ok(key)
            }
            Err(why) => Err(VaultError::KeyFile { path: path.to_owned(), action: "read", why }),
        }
    }

    fn keep(&self, path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // Under another name first: a crash in the middle leaves no half of a key.
        let draft = path.with_extension("key.new");
        let _ = fs::remove_file(&draft);
        let mut file = options.open(&draft)?;
        file.write_all(self.0.as_slice())?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => fs::File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_file_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vault.key");
        assert!(matches!(VaultKey::load(&path, false), Err(VaultError::KeyFile { .. })));
        let made = VaultKey::load(&path, true).unwrap();
        let read = VaultKey::load(&path, true).unwrap();
        assert_eq!(*made.0, *read.0);
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777,
            0o600
        );
        fs::write(&path, b"short").unwrap();
        assert!(matches!(VaultKey::load(&path, true), Err(VaultError::KeySize { bytes: 5, .. })));
    }
}
