//! Puts the built web app into the program: a table of what is in `web/dist`, empty when it was not built.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    // As seen from this package, where cargo runs us: a folder of compiled things that is carried to another checkout looks there.
    let dist = Path::new("../../web/dist");
    // While it is missing, cargo asks again at every build.
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    if dist.is_dir() {
        collect(dist, &mut files)?;
        files.sort();
    }
    let mut table = String::from("&[\n");
    for file in files.iter().filter(|file| file.extension().is_none_or(|end| end != "gz")) {
        let name = file.strip_prefix(dist).unwrap_or(file).to_string_lossy().into_owned();
        let zipped = PathBuf::from(format!("{}.gz", file.display()));
        let zipped = match files.contains(&zipped) {
            true => format!("Some(include_bytes!({:?}))", zipped.canonicalize()?),
            false => "None".to_owned(),
        };
        let mut hasher = DefaultHasher::new();
        std::fs::read(file)?.hash(&mut hasher);
        let (tag, path) = (format!("\"{:016x}\"", hasher.finish()), file.canonicalize()?);
        let line = format!(
            "    File {{ path: {name:?}, tag: {tag:?}, bytes: include_bytes!({path:?}), zipped: {zipped} }},"
        );
        writeln!(table, "{line}").map_err(std::io::Error::other)?;
    }
    table.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let out = out.join("web_files.rs");
    // What is as it was is left alone, so that nothing is compiled anew for it.
    match std::fs::read_to_string(&out) {
        Ok(known) if known == table => Ok(()),
        Ok(_) | Err(_) => std::fs::write(out, table),
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => {
                println!("cargo::rerun-if-changed={}", path.display());
                files.push(path);
            }
        }
    }
    Ok(())
}
