//! Every image that the formats' own tools made for the shared vectors, with the manifest of its
//! source.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// An image, what it was made of, and how to compare.
pub struct Vector {
    pub image: PathBuf,
    pub manifest: PathBuf,
    pub options: Vec<String>,
    /// The program's options to open the image: its further files, and which one of several it is;
    /// a test may add options of its own.
    pub devices: Vec<String>,
}

impl Vector {
    /// Returns the options of the comparison.
    pub fn options(&self) -> Vec<&str> {
        self.options.iter().map(String::as_str).collect()
    }

    /// Returns the program's options to open the image.
    pub fn more(&self) -> Vec<&str> {
        self.devices.iter().map(String::as_str).collect()
    }

    /// Makes the arguments of a command that reads the image.
    pub fn args<'a>(&'a self, command: impl IntoIterator<Item = &'a str>) -> Vec<&'a OsStr> {
        let words = command.into_iter().chain(self.more()).map(OsStr::new);
        words.chain([self.image.as_os_str()]).collect()
    }
}

/// The formats that are read, and how many images of each there are at least.
pub const FORMATS: [(&str, usize); 8] = [
    ("dwarfs", 31),
    ("squashfs", 28),
    ("erofs", 47),
    ("cramfs", 4),
    ("cromfs", 5),
    ("cloop", 4),
    ("wim", 12),
    ("iso9660", 14),
];

/// Lists the vectors, with packed images unpacked into a directory.
pub fn all_vectors(vectors: &Path, work: &Path) -> Vec<Vector> {
    let all = FORMATS.iter();
    all.flat_map(|(format, least)| {
        let found = vectors_of(format, vectors, work);
        assert!(found.len() >= *least, "only {} of {format}", found.len());
        found
    })
    .collect()
}

/// Lists the vectors of one format.
pub fn vectors_of(format: &str, vectors: &Path, work: &Path) -> Vec<Vector> {
    let index = std::fs::read_to_string(vectors.join("images/INDEX.jsonl")).expect("an index");
    let rows = index
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    // images of several formats have the same names
    let work = work.join(format);
    std::fs::create_dir_all(&work).expect("a directory");
    let mut found = Vec::new();
    for row in rows.filter(|row| row["format"] == format) {
        let text = |key: &str| {
            row[key]
                .as_str()
                .unwrap_or_else(|| panic!("{key}"))
                .to_owned()
        };
        let extra = row["extra"].as_array().expect("extra files").iter();
        let devices = extra.flat_map(|file| {
            let file = vectors.join("images").join(file.as_str().expect("a file"));
            let file = unpacked(&file, &work);
            [
                "--device".to_owned(),
                file.to_str().expect("UTF-8").to_owned(),
            ]
        });
        let mut devices: Vec<String> = devices.collect();
        if text("file").contains("two-images") {
            // the manifest is that of the first one
            devices.extend(["--image".to_owned(), "1".to_owned()]);
        }
        found.push(Vector {
            devices,
            image: unpacked(&vectors.join("images").join(text("file")), &work),
            manifest: vectors.join(text("manifest")),
            options: row["compare"]
                .as_array()
                .expect("options")
                .iter()
                .map(|word| word.as_str().expect("a word").to_owned())
                .collect(),
        });
    }
    found
}

/// Returns a vector's image, unpacked where it is stored packed.
fn unpacked(file: &Path, work: &Path) -> PathBuf {
    if file.extension().is_none_or(|extension| extension != "gz") {
        return file.to_owned();
    }
    let output = Command::new("gzip")
        .arg("-dc")
        .arg(file)
        .output()
        .expect("gzip");
    assert!(output.status.success(), "{}", file.display());
    let to = work.join(file.file_stem().expect("a name"));
    std::fs::write(&to, output.stdout).expect("the image is written");
    to
}
