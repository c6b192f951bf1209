//! A member from its header, the records and the long names before it.
//!
//! **Invariant:** records win over GNU's long names, these over the header's own fields. Fields of
//! some dialects are used only in headers with the magic of that dialect.

use std::borrow::Cow;

use sinterfs_model::{Error, Meta, Rdev, Result, Time, Times};

use super::pax::Records;
use crate::member::{Kind, Member};
use crate::tar::layout::{GNU, UstarHeader, number, typeflag};

/// All that is known of a member.
pub(super) struct Maker<'a> {
    pub(super) header: &'a UstarHeader,
    pub(super) records: &'a Records,
    pub(super) name: Option<Vec<u8>>,
    pub(super) target: Option<Vec<u8>>,
    /// The position of the header.
    pub(super) at: u64,
}

impl Maker<'_> {
    /// Makes the member; its content is left to the caller.
    pub(super) fn member(mut self) -> Result<Member> {
        let path = self.path();
        let kind = self.kind(&path)?;
        let remark = self.remark(&kind);
        let xattrs = self.records.xattrs.clone().into_iter().collect();
        Ok(Member {
            meta: self.meta()?,
            path,
            kind,
            xattrs,
            size: 0,
            map: None,
            content: 0,
            at: self.at,
            remark,
        })
    }

    fn path(&mut self) -> Vec<u8> {
        let records = self.records;
        let recorded = records.sparse.name.as_ref().or(records.path.as_ref());
        if let Some(path) = recorded {
            return path.clone();
        }
        self.name.take().unwrap_or_else(|| self.name_of_header())
    }

    fn name_of_header(&self) -> Vec<u8> {
        let header = self.header;
        let name = text(&header.name);
        let prefix = match (self.is_posix(), self.is_star()) {
            (false, _) => &[][..],
            (true, false) => text(&header.prefix),
            (true, true) => text(header.prefix.get(..131).unwrap_or_default()),
        };
        match prefix {
            [] => name.to_vec(),
            prefix => [prefix, b"/", name].concat(),
        }
    }

    fn kind(&mut self, path: &[u8]) -> Result<Kind> {
        Ok(match self.header.typeflag {
            typeflag::DIRECTORY | typeflag::GNU_DUMP_DIRECTORY => Kind::Directory,
            typeflag::LINK => Kind::HardLink(self.target()),
            typeflag::SYMLINK => Kind::Symlink(self.target()),
            typeflag::CHAR_DEVICE => Kind::CharDevice(self.device()?),
            typeflag::BLOCK_DEVICE => Kind::BlockDevice(self.device()?),
            typeflag::FIFO => Kind::Fifo,
            typeflag::GNU_SPARSE => Kind::File,
            // tar had no directories at first, only names that end so
            _ if path.ends_with(b"/") => Kind::Directory,
            _ => Kind::File,
        })
    }

    /// Returns the remark for a member of an unknown type.
    fn remark(&self, kind: &Kind) -> Option<Cow<'static, str>> {
        let flag = self.header.typeflag;
        let is_known = matches!(flag, b'0'..=b'7' | typeflag::OLD_FILE)
            || matches!(flag, typeflag::GNU_SPARSE | typeflag::GNU_DUMP_DIRECTORY);
        let taken_for = match kind {
            Kind::Directory => "directory",
            _ => "file",
        };
        let flag = char::from(flag);
        (!is_known)
            .then(|| format!("the type {flag:?} is not known, taken for a {taken_for}").into())
    }

    fn target(&mut self) -> Vec<u8> {
        if let Some(target) = &self.records.target {
            return target.clone();
        }
        let of_header = || text(&self.header.linkname).to_vec();
        self.target.take().unwrap_or_else(of_header)
    }

    fn device(&self) -> Result<Rdev> {
        let part = |record: Option<i64>, field: &[u8]| {
            let number = record.or_else(|| number(field));
            let number = number.and_then(|number| u32::try_from(number).ok());
            number.ok_or_else(|| self.bad("a device"))
        };
        Ok(Rdev {
            major: part(self.records.dev_major, &self.header.dev_major)?,
            minor: part(self.records.dev_minor, &self.header.dev_minor)?,
        })
    }

    fn meta(&self) -> Result<Meta> {
        let (header, records) = (self.header, self.records);
        let mode = number(&header.mode).ok_or_else(|| self.bad("permissions"))?;
        let modified = match records.modified {
            Some(time) => time,
            None => seconds(number(&header.mtime).ok_or_else(|| self.bad("a time"))?),
        };
        let (accessed, changed) = self.other_times();
        Ok(Meta {
            mode: match (u16::try_from(mode & 0o7777), records.mode) {
                (Ok(mode), None) => mode,
                (Ok(mode), Some(listed)) => mode & !0o777 | listed,
                (Err(_), _) => return Err(self.bad("permissions")),
            },
            uid: self.owner(records.uid, &header.uid)?,
            gid: self.owner(records.gid, &header.gid)?,
            times: Times {
                modified,
                accessed: records.accessed.or(accessed).unwrap_or(modified),
                changed: records.changed.or(changed).unwrap_or(modified),
            },
        })
    }

    /// Reads the number of an owner. Those with 16 or 32 signed bits wrote the highest as negative
    /// ones.
    fn owner(&self, record: Option<i64>, field: &[u8]) -> Result<u32> {
        let number = record.or_else(|| number(field));
        let unsigned = |number: i64| {
            let signed = || i32::try_from(number).ok().map(i32::cast_unsigned);
            u32::try_from(number).ok().or_else(signed)
        };
        number
            .and_then(unsigned)
            .ok_or_else(|| self.bad("an owner"))
    }

    /// Reads times of access and of change where GNU and star put them; empty fields mean none.
    fn other_times(&self) -> (Option<Time>, Option<Time>) {
        let at = match (self.header.magic == GNU, self.is_posix() && self.is_star()) {
            (true, _) => 0,
            (false, true) => 131,
            _ => return (None, None),
        };
        let time = |at: usize| {
            let field = self.header.prefix.get(at..at + 12)?;
            number(field).filter(|&secs| secs > 0).map(seconds)
        };
        (time(at), time(at + 12))
    }

    fn is_posix(&self) -> bool {
        self.header.magic.starts_with(b"ustar\0")
    }

    fn is_star(&self) -> bool {
        self.header.padding.ends_with(b"tar\0")
    }

    #[cold]
    fn bad(&self, what: &str) -> Error {
        Error::corrupt(format!("{what} that is not a number")).at("tar header", self.at)
    }
}

/// Cuts a field at its first NUL.
pub(super) fn text(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|&byte| byte == 0);
    field.get(..end.unwrap_or(field.len())).unwrap_or(field)
}

fn seconds(secs: i64) -> Time {
    Time { secs, nanos: 0 }
}
