//! One process on one folder.

use crate::{DataDir, DataDirError};

#[test]
fn the_second_on_one_folder_says_so_and_names_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new/data");
    let first = DataDir::take(&data).unwrap();
    assert_eq!(first.path(), data);
    let refused = DataDir::take(&data).unwrap_err();
    assert!(
        matches!(&refused, DataDirError::InUse { process, .. } if *process == std::process::id().to_string())
    );
    let said = refused.to_string();
    assert!(said.contains("in use by another arena") && said.contains("--data"), "{said}");
    assert!(said.contains(&data.display().to_string()), "{said}");
    drop(first);
    DataDir::take(&data).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refused = DataDir::take(&file.join("data")).unwrap_err();
    assert!(
        matches!(refused, DataDirError::Io { .. }) && refused.to_string().contains("file/data"),
        "{refused}"
    );
}
