//! What every command that makes an image asks for besides: what its files look like, what it tells of
//! itself.

use sinterfs::{AttributeChanges, BuildRequest, Error, Result, RootChanges};

/// What files look like in the image, and how their tables are stored.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Owners, times and permissions")]
pub struct AttributeArgs {
    /// Make every file owned by a user (a number).
    #[arg(long, visible_alias = "force-uid", value_name = "UID")]
    set_owner: Option<u32>,

    /// Make every file belong to a group (a number).
    #[arg(long, visible_alias = "force-gid", value_name = "GID")]
    set_group: Option<u32>,

    /// Make every file owned by user and group 0.
    #[arg(long, visible_alias = "root-owned", conflicts_with_all = ["set_owner", "set_group"])]
    all_root: bool,

    /// Change owners: FROM becomes TO, and so on for COUNT numbers (1 unless told). May be given several times,
    /// the first that holds for an owner counts; the others stay.
    #[arg(long, value_name = "FROM:TO[:COUNT]", conflicts_with_all = ["set_owner", "all_root"])]
    uid_map: Vec<String>,

    /// Change groups in the same way.
    #[arg(long, value_name = "FROM:TO[:COUNT]", conflicts_with_all = ["set_group", "all_root"])]
    gid_map: Vec<String>,

    /// Add a number to every owner and group, to those that other options set, too.
    #[arg(
        long,
        visible_alias = "uid-gid-offset",
        value_name = "NUMBER",
        default_value_t = 0
    )]
    id_offset: u32,

    /// Give every file one time: seconds since 1970, or `now`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    set_time: Option<String>,

    /// Give every file the time 0: the same as --set-time 0.
    #[arg(long, conflicts_with = "set_time")]
    use_epoch: bool,

    /// Change permissions as chmod does (`go-w`, `a=rX`, `0755`, `D` or `F` in front for
    /// directories or files only), or `norm` for what all can read.
    #[arg(long, value_name = "MODE,..", allow_hyphen_values = true)]
    chmod: Option<String>,

    #[command(flatten)]
    root: RootArgs,

    /// The unit of times: 1ns, 1us, 100ms, 1s, 2s, 1min, 1h ... (default: 1s; of images, what
    /// loses nothing).
    #[arg(long, value_name = "UNIT")]
    time_resolution: Option<String>,

    /// Keep times of access and of inode change, not of modification alone.
    #[arg(long)]
    keep_all_times: bool,

    /// Which tables of the metadata are packed: `all` (the default), `none`, `plain`, or some of
    /// chunk_table, directories, shared_files, names, names_index, symlinks, symlinks_index.
    #[arg(long, value_name = "TABLE,..")]
    pack_metadata: Option<String>,
}

/// What the root directory looks like, whatever is asked of all files.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Owners, times and permissions")]
struct RootArgs {
    /// Give the root directory these permissions: an octal number, or as for --chmod.
    #[arg(long, value_name = "MODE", allow_hyphen_values = true)]
    root_mode: Option<String>,

    /// Make the root directory owned by a user (a number).
    #[arg(long, value_name = "UID")]
    root_uid: Option<u32>,

    /// Make the root directory belong to a group (a number).
    #[arg(long, value_name = "GID")]
    root_gid: Option<u32>,

    /// Give the root directory this time: seconds since 1970, or `now`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    root_time: Option<String>,
}

/// What the image tells of itself.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Metadata of the image")]
pub struct MetadataArgs {
    /// Leave out of the image how it was made (version and settings).
    #[arg(long)]
    no_history: bool,

    /// Leave the section index out of the image.
    #[arg(long)]
    no_section_index: bool,

    /// Put digests of all bytes into the image and print their root, for --digest of other commands
    /// (DwarFS).
    #[arg(long)]
    with_digest: bool,

    /// Fail if anything can't be kept or read.
    #[arg(long)]
    strict: bool,
}

/// When the image is said to have been made.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Metadata of the image")]
pub struct TimestampArgs {
    /// Record when the image was made (then the same input gives other bytes every second), or this time,
    /// in seconds since 1970.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true)]
    create_timestamp: Option<Option<u64>>,

    /// Record no time of creation even if SOURCE_DATE_EPOCH is set.
    #[arg(long, conflicts_with = "create_timestamp")]
    no_create_timestamp: bool,
}

impl AttributeArgs {
    /// Adds what was asked to a request.
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
        request.time_resolution = self.time_resolution;
        request.keep_all_times = self.keep_all_times;
        request.pack_metadata = self.pack_metadata;
        Ok(())
    }
}

impl MetadataArgs {
    /// Adds what was asked to a request.
    pub fn apply(&self, request: &mut BuildRequest) {
        request.history = !self.no_history;
        request.section_index = !self.no_section_index;
        request.with_digest = self.with_digest;
        request.strict = self.strict;
    }
}

impl TimestampArgs {
    /// Adds what was asked to a request: a time of creation, and that no file is younger than
    /// SOURCE_DATE_EPOCH.
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

/// Reads SOURCE_DATE_EPOCH as reproducible-builds.org specifies it; empty means not set.
pub fn source_date_epoch() -> Result<Option<i64>> {
    let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|&n: &i64| n >= 0);
    let wrong = || Error::invalid("SOURCE_DATE_EPOCH must be seconds since 1970");
    number.map(Some).ok_or_else(wrong)
}

fn seconds(text: &str) -> Result<i64> {
    if text == "now" {
        return Ok(now());
    }
    text.parse()
        .map_err(|_| Error::invalid(format!("`{text}`: a time is seconds since 1970, or `now`")))
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok())
        .unwrap_or(0)
}
