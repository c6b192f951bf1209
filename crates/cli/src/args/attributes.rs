//! Flags of commands that write images: attributes of the files, and metadata of the image itself.

use sinterfs::build::{AttributeChanges, BuildRequest, ImpliedDirectories, RootChanges};
use sinterfs::{Error, Result};

use crate::owners;

/// Changes of file attributes, and how they are stored.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Owners, times and permissions")]
pub struct AttributeArgs {
    /// Set the owner of all files: a user ID, or a name of this machine.
    #[arg(long, visible_alias = "force-uid", value_name = "USER", value_parser = owners::user)]
    set_owner: Option<u32>,

    /// Set the group of all files: a group ID, or a name of this machine.
    #[arg(long, visible_alias = "force-gid", value_name = "GROUP", value_parser = owners::group)]
    set_group: Option<u32>,

    /// Set owner and group of all files to 0.
    #[arg(long, visible_alias = "root-owned", conflicts_with_all = ["set_owner", "set_group"])]
    all_root: bool,

    /// Map COUNT user IDs (default: 1) that begin at FROM to those that begin at TO. Can be
    /// repeated; the first range that contains an ID applies, other IDs stay.
    #[arg(long, value_name = "FROM:TO[:COUNT]", conflicts_with_all = ["set_owner", "all_root"])]
    uid_map: Vec<String>,

    /// Map group IDs in the same way.
    #[arg(long, value_name = "FROM:TO[:COUNT]", conflicts_with_all = ["set_group", "all_root"])]
    gid_map: Vec<String>,

    /// Add a number to all user and group IDs, after all other changes.
    #[arg(
        long,
        visible_alias = "uid-gid-offset",
        value_name = "NUMBER",
        default_value_t = 0
    )]
    id_offset: u32,

    /// Set the times of all files: seconds since 1970, or `now`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    set_time: Option<String>,

    /// Set the times of all files to 0, as --set-time 0 does.
    #[arg(long, conflicts_with = "set_time")]
    use_epoch: bool,

    /// Change permissions as chmod(1) does (`go-w`, `a=rX`, `0755`); a `D` or `F` in front
    /// restricts a change to directories or files. `norm` makes everything readable for everyone.
    #[arg(long, value_name = "MODE,..", allow_hyphen_values = true)]
    chmod: Option<String>,

    #[command(flatten)]
    root: RootArgs,

    /// Attributes of directories that an archive has no member for, and of its root: mode=MODE
    /// (default: 0755), uid=ID, gid=ID (default: 0), mtime=SECONDS (default: the time of the first
    /// member below).
    #[arg(long, value_name = "KEY=VALUE,..", value_parser = implied_directories)]
    dir_defaults: Option<ImpliedDirectories>,
}

/// Attributes of the root directory, which take precedence over the attributes set for all files.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Owners, times and permissions")]
struct RootArgs {
    /// Set the permissions of the root directory: an octal number, or as for --chmod.
    #[arg(long, value_name = "MODE", allow_hyphen_values = true)]
    root_mode: Option<String>,

    /// Set the owner of the root directory: a user ID, or a name of this machine.
    #[arg(long, value_name = "USER", value_parser = owners::user)]
    root_uid: Option<u32>,

    /// Set the group of the root directory: a group ID, or a name of this machine.
    #[arg(long, value_name = "GROUP", value_parser = owners::group)]
    root_gid: Option<u32>,

    /// Set the times of the root directory: seconds since 1970, or `now`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    root_time: Option<String>,
}

/// Metadata of the image itself.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Metadata of the image")]
pub struct MetadataArgs {
    /// Fail if anything cannot be stored or read.
    #[arg(long)]
    strict: bool,
}

/// The time of creation that the image records.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Metadata of the image")]
pub struct TimestampArgs {
    /// Record this time of creation, in seconds since 1970, or the current time, which makes each
    /// image different.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true)]
    create_timestamp: Option<Option<u64>>,

    /// Record no time of creation, even if SOURCE_DATE_EPOCH is set.
    #[arg(long, conflicts_with = "create_timestamp")]
    no_create_timestamp: bool,
}

/// Parses the attributes of directories that archives have no member for.
fn implied_directories(text: &str) -> std::result::Result<ImpliedDirectories, String> {
    let mut implied = ImpliedDirectories::default();
    for part in text.split(',') {
        let wrong = || {
            format!(
                "`{part}` is not one of mode=MODE, uid=ID, gid=ID and \
                                mtime=SECONDS"
            )
        };
        let (key, value) = part.split_once('=').ok_or_else(wrong)?;
        let id = || value.parse::<u32>().map_err(|_| wrong());
        match key {
            "mode" => {
                let mode = u16::from_str_radix(value, 8).ok();
                let mode = mode.filter(|mode| *mode <= 0o7777);
                implied.mode = Some(mode.ok_or_else(wrong)?);
            }
            "uid" => implied.uid = Some(id()?),
            "gid" => implied.gid = Some(id()?),
            "mtime" => implied.time = Some(value.parse().map_err(|_| wrong())?),
            _ => return Err(wrong()),
        }
    }
    Ok(implied)
}

impl AttributeArgs {
    /// Sets these options in a request.
    pub fn apply(self, request: &mut BuildRequest) -> Result<()> {
        let zero = self.all_root.then_some(0);
        let root = self.root;
        request.attributes = AttributeChanges {
            owner: self.set_owner.or(zero),
            group: self.set_group.or(zero),
            owner_map: self.uid_map,
            group_map: self.gid_map,
            id_offset: self.id_offset,
            time: if self.use_epoch {
                Some(0)
            } else {
                self.set_time.as_deref().map(seconds).transpose()?
            },
            latest_time: None,
            chmod: self.chmod,
            root: RootChanges {
                mode: root.root_mode,
                owner: root.root_uid,
                group: root.root_gid,
                time: root.root_time.as_deref().map(seconds).transpose()?,
            },
        };
        request.implied = self.dir_defaults.unwrap_or_default();
        Ok(())
    }
}

impl MetadataArgs {
    /// Sets these options in a request.
    pub fn apply(&self, request: &mut BuildRequest) {
        request.strict = self.strict;
    }
}

impl TimestampArgs {
    /// Sets the time of creation in a request, and SOURCE_DATE_EPOCH as the latest time of any
    /// file.
    pub fn apply(&self, request: &mut BuildRequest) -> Result<()> {
        let epoch = source_date_epoch()?;
        request.attributes.latest_time = epoch;
        request.create_timestamp = match epoch {
            _ if self.no_create_timestamp => None,
            _ if self.create_timestamp.flatten().is_some() => self.create_timestamp.flatten(),
            None if self.create_timestamp.is_some() => Some(now().unsigned_abs()),
            epoch => epoch.map(i64::unsigned_abs),
        };
        Ok(())
    }
}

/// Returns SOURCE_DATE_EPOCH, as reproducible-builds.org specifies it; empty means not set.
pub fn source_date_epoch() -> Result<Option<i64>> {
    let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|&n: &i64| n >= 0);
    let invalid = || Error::invalid("SOURCE_DATE_EPOCH must be seconds since 1970");
    number.map(Some).ok_or_else(invalid)
}

/// Parses seconds since 1970, or `now`.
pub fn seconds(text: &str) -> Result<i64> {
    if text == "now" {
        return Ok(now());
    }
    text.parse().map_err(|_| {
        Error::invalid(format!(
            "`{text}` is not a time: expected seconds since 1970, or `now`"
        ))
    })
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok())
        .unwrap_or(0)
}
