//! Container images by the names that skopeo and podman use for them on disk.
//!
//! Enters a source of a build, as it was given; leaves the kind, the place and the image that is
//! wanted there. Facts: containers-transports(5). **Invariant:** a path that does not begin with
//! one of the names, for example one that begins with `./`, is a path.

use std::io::Read;
use std::path::{Path, PathBuf};

use sinterfs_model::Result;
use sinterfs_platform::names;

use super::oci::{self, Below, Blobs};

/// The manifest of a directory of skopeo's.
const MANIFEST: &str = "manifest.json";

/// The file that says what a directory is, and the beginning of its content.
const VERSION: (&str, &[u8]) = ("version", b"Directory Transport Version: ");

/// The form of an image on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// A directory as OCI lays it out.
    Oci,
    /// A directory with the files of one image, as `skopeo copy` makes it.
    Dir,
    /// An archive with an OCI layout.
    OciArchive,
    /// An archive as `docker save` makes it.
    DockerArchive,
}

const FORMS: [(&str, Transport); 4] = [
    ("oci:", Transport::Oci),
    ("dir:", Transport::Dir),
    ("oci-archive:", Transport::OciArchive),
    ("docker-archive:", Transport::DockerArchive),
];

/// A source that names a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) form: Transport,
    pub(crate) path: PathBuf,
    /// The tag or the name of the image that is wanted, if several are there.
    pub(crate) image: Option<String>,
}

impl Named {
    /// Parses a source; `None` for a path or a URL.
    pub(crate) fn of(source: &Path) -> Option<Self> {
        let bytes = names::bytes(source);
        if crate::place::is_url(source) {
            return None;
        }
        let (form, rest) = FORMS
            .iter()
            .find_map(|(name, form)| Some((*form, bytes.strip_prefix(name.as_bytes())?)))?;
        let path = |bytes: &[u8]| names::path_buf(bytes.to_vec());
        let colon = rest.iter().position(|&byte| byte == b':');
        let colon = colon.filter(|_| form != Transport::Dir && !path(rest).exists());
        Some(match colon.and_then(|at| rest.split_at_checked(at)) {
            Some((place, image)) => {
                let image = String::from_utf8_lossy(image.get(1..).unwrap_or_default());
                Self {
                    form,
                    path: path(place),
                    image: Some(image.into_owned()).filter(|image| !image.is_empty()),
                }
            }
            None => Self {
                form,
                path: path(rest),
                image: None,
            },
        })
    }
}

/// Returns the images of a directory, if it holds some.
pub(crate) fn layout(dir: &Path) -> Option<Box<dyn Blobs + '_>> {
    if oci::is_layout(dir) {
        return Some(Box::new(Below(dir)));
    }
    is_dir_form(dir).then(|| Box::new(Flat(dir)) as Box<dyn Blobs>)
}

/// Returns whether a directory holds the files of one image.
fn is_dir_form(dir: &Path) -> bool {
    let (name, expected) = VERSION;
    let mut start = vec![0; expected.len()];
    let file = std::fs::File::open(dir.join(name));
    let read = file.and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == expected && dir.join(MANIFEST).is_file()
}

/// A directory in which blobs are files with the digits of their digests as names.
struct Flat<'a>(&'a Path);

impl Flat<'_> {
    fn place(&self, name: &str) -> PathBuf {
        if name == oci::INDEX {
            return self.0.join(MANIFEST);
        }
        let digits = name.rsplit('/').next().unwrap_or(name);
        let blob = self.0.join(digits);
        // of an index with several images
        let manifest = self.0.join(format!("{digits}.{MANIFEST}"));
        if !blob.exists() && manifest.exists() {
            manifest
        } else {
            blob
        }
    }
}

impl Blobs for Flat<'_> {
    fn open(&self, name: &str) -> Result<(Box<dyn Read + Send>, u64)> {
        oci::opened(&self.place(name))
    }

    fn shown(&self, name: &str) -> PathBuf {
        self.place(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(source: &str) -> Option<(Transport, String, Option<String>)> {
        let named = Named::of(Path::new(source))?;
        Some((
            named.form,
            named.path.to_str().unwrap_or_default().to_owned(),
            named.image,
        ))
    }

    #[test]
    fn names_are_those_of_skopeo() {
        let tag = |tag: &str| Some(tag.to_owned());
        assert_eq!(
            parsed("oci:a/b"),
            Some((Transport::Oci, "a/b".into(), None))
        );
        assert_eq!(
            parsed("oci:/a/b:x.org/debian:12"),
            Some((Transport::Oci, "/a/b".into(), tag("x.org/debian:12")))
        );
        assert_eq!(
            parsed("docker-archive:a.tar:@1"),
            Some((Transport::DockerArchive, "a.tar".into(), tag("@1")))
        );
        assert_eq!(
            parsed("oci-archive:a.tar:"),
            Some((Transport::OciArchive, "a.tar".into(), None))
        );
        assert_eq!(
            parsed("dir:a:b"),
            Some((Transport::Dir, "a:b".into(), None))
        );
        assert_eq!(parsed("./oci:a"), None);
        assert_eq!(parsed("oci://host/debian:12"), None);
        assert_eq!(parsed("debian.tar"), None);
    }
}
