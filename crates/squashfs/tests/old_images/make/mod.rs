//! Makes small images of versions 1 to 3 in either byte order, from what is known of the format: no
//! tool that is at hand writes them any more.
//!
//! In: a version, an order, and the files of `sample`. Out: the bytes of an image.

mod stream;

use stream::{Stream, pack, zlib};

/// The version and byte order of an image.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub major: u64,
    pub big: bool,
    /// Metadata is stored as it is.
    pub raw: bool,
}

/// What a file of the sample is.
#[derive(Debug, Clone)]
pub enum What {
    Directory(Vec<Node>),
    File(Vec<u8>),
    Symlink(&'static str),
    #[allow(dead_code, reason = "only one of the tests has it")]
    CharDevice(u64),
    Fifo,
}

/// A file of the sample.
#[derive(Debug, Clone)]
pub struct Node {
    pub name: String,
    pub mode: u64,
    /// Indexes of owner and group.
    pub owner: (u64, u64),
    pub what: What,
}

pub const BLOCK: usize = 32 << 10;
pub const MADE: u64 = 1_100_000_000;
pub const MODIFIED: u64 = 1_000_000_000;
pub const USERS: [u64; 20] = {
    let mut users = [0; 20];
    let mut index = 0;
    while index < users.len() {
        users[index] = 1000 + index as u64;
        index += 1;
    }
    users
};
pub const GROUPS: [u64; 2] = [50, 60];
/// The group's index that means the owner's id.
pub const NO_GROUP: u64 = u64::MAX;

const NO_FRAGMENT: u64 = 0xffff_ffff;

struct Maker {
    kind: Kind,
    image: Vec<u8>,
    fragments: Vec<(u64, u64)>,
    open_fragment: Vec<u8>,
    inodes: Stream,
    listings: Stream,
    /// References of inodes by number, from 1.
    references: Vec<u64>,
}

/// An inode that was written: place, number, type.
struct Made {
    block: u64,
    offset: u64,
    number: u64,
    kind: u64,
}

/// Makes an image.
pub fn image(kind: Kind, root: &Node) -> Vec<u8> {
    let mut maker = Maker {
        kind,
        image: vec![0; 119],
        fragments: Vec::new(),
        open_fragment: Vec::new(),
        inodes: Stream::new(kind),
        listings: Stream::new(kind),
        references: Vec::new(),
    };
    let count = count(root);
    maker.references = vec![0; count as usize];
    let mut next = 1;
    let made = maker.node(root, count + 1, &mut next);
    maker.finish(&made)
}

fn count(node: &Node) -> u64 {
    1 + match &node.what {
        What::Directory(children) => children.iter().map(count).sum(),
        _ => 0,
    }
}

impl Maker {
    fn pack(&self, fields: &[(u64, u32)]) -> Vec<u8> {
        pack(self.kind.big, fields)
    }

    /// What all inodes start with.
    fn header(&self, node: &Node, kind: u64, number: u64) -> Vec<(u64, u32)> {
        let (user, group) = node.owner;
        match self.kind.major {
            1 => {
                let group = if group == NO_GROUP { 15 } else { group };
                // the type also says which sixteen owners are meant
                let kind = if kind == 6 { 0 } else { kind + user / 16 * 5 };
                vec![(kind, 4), (node.mode, 12), (user % 16, 4), (group, 4)]
            }
            major => {
                let group = if group == NO_GROUP { 255 } else { group };
                let mut fields = vec![(kind, 4), (node.mode, 12), (user, 8), (group, 8)];
                if major == 3 {
                    fields.extend([(MODIFIED, 32), (number, 32)]);
                }
                fields
            }
        }
    }

    fn node(&mut self, node: &Node, parent: u64, next: &mut u64) -> Made {
        let number = *next;
        *next += 1;
        let (kind, body, tail) = match &node.what {
            What::Directory(children) => self.directory(children, number, parent, next),
            What::File(content) => self.file(content),
            What::Symlink(target) => {
                let mut fields = self.names(1);
                fields.push((target.len() as u64, 16));
                (3, fields, target.as_bytes().to_vec())
            }
            What::CharDevice(rdev) => {
                let mut fields = self.names(1);
                fields.push((*rdev, 16));
                (5, fields, Vec::new())
            }
            What::Fifo => {
                let fields = match self.kind.major {
                    1 => vec![(6, 4), (node.owner.0 / 16, 4)],
                    _ => self.names(1),
                };
                (6, fields, Vec::new())
            }
        };
        let mut fields = self.header(node, kind, number);
        fields.extend(body);
        let (block, offset) = self.inodes.place();
        let bytes = self.pack(&fields);
        self.inodes.add(&bytes);
        self.inodes.add(&tail);
        self.references[number as usize - 1] = (block << 16) | offset;
        Made {
            block,
            offset,
            number,
            kind: match kind {
                8 => 1,
                9 => 2,
                basic => basic,
            },
        }
    }

    fn names(&self, count: u64) -> Vec<(u64, u32)> {
        match self.kind.major {
            3 => vec![(count, 32)],
            _ => Vec::new(),
        }
    }

    fn file(&mut self, content: &[u8]) -> (u64, Vec<(u64, u32)>, Vec<u8>) {
        let start = self.image.len() as u64;
        let mut words = Vec::new();
        let fragments = self.kind.major > 1;
        let tail = if fragments { content.len() % BLOCK } else { 0 };
        for block in content[..content.len() - tail].chunks(BLOCK) {
            words.extend(self.block(block));
        }
        let (mut fragment, mut offset) = (NO_FRAGMENT, 0);
        if tail > 0 {
            if self.open_fragment.len() + tail > BLOCK {
                self.close_fragment();
            }
            fragment = self.fragments.len() as u64;
            offset = self.open_fragment.len() as u64;
            self.open_fragment.extend(&content[content.len() - tail..]);
        }
        let size = content.len() as u64;
        match self.kind.major {
            1 => (2, vec![(MODIFIED, 32), (start, 32), (size, 32)], words),
            2 => {
                let place = [(start, 32), (fragment, 32), (offset, 32), (size, 32)];
                let fields = [&[(MODIFIED, 32)][..], &place].concat();
                (2, fields, words)
            }
            // the long form for one of them
            _ if words.len() > 8 => {
                let place = [(start, 64), (fragment, 32), (offset, 32), (size, 64)];
                (9, [&[(1, 32)][..], &place].concat(), words)
            }
            _ => {
                let fields = vec![(start, 64), (fragment, 32), (offset, 32), (size, 32)];
                (2, fields, words)
            }
        }
    }

    /// Adds a block and gives its size as it stands in the inode.
    fn block(&mut self, raw: &[u8]) -> Vec<u8> {
        if self.kind.major == 3 && raw.iter().all(|byte| *byte == 0) {
            return self.pack(&[(0, 32)]);
        }
        let encoded = zlib(raw);
        let stored = if encoded.len() < raw.len() {
            encoded.len() as u64
        } else {
            raw.len() as u64
                | if self.kind.major == 1 {
                    1 << 15
                } else {
                    1 << 24
                }
        };
        self.image.extend(if encoded.len() < raw.len() {
            &encoded[..]
        } else {
            raw
        });
        self.pack(&[(stored, if self.kind.major == 1 { 16 } else { 32 })])
    }

    fn close_fragment(&mut self) {
        if self.open_fragment.is_empty() {
            return;
        }
        let start = self.image.len() as u64;
        let encoded = zlib(&self.open_fragment);
        self.image.extend(&encoded);
        self.fragments.push((start, encoded.len() as u64));
        self.open_fragment.clear();
    }

    fn directory(
        &mut self,
        children: &[Node],
        number: u64,
        parent: u64,
        next: &mut u64,
    ) -> (u64, Vec<(u64, u32)>, Vec<u8>) {
        let made: Vec<Made> = children
            .iter()
            .map(|child| self.node(child, number, next))
            .collect();
        let (block, offset) = self.listings.place();
        let before = self.listings.starts.len();
        let (mut len, mut index, mut index_count) = (0u64, Vec::new(), 0u64);
        let (mut at, mut last_block) = (0, block);
        while at < made.len() {
            let first = &made[at];
            let fits = |child: &Made| child.block == first.block;
            let run = made[at..].iter().take(200).take_while(|c| fits(c)).count();
            let here = self.listings.place().0;
            if here != last_block && self.kind.major > 1 {
                let name = children[at].name.as_bytes();
                let (wide, narrow) = if self.kind.major == 2 {
                    (27, 29)
                } else {
                    (32, 32)
                };
                let row = [(len, wide), (here, narrow), (name.len() as u64 - 1, 8)];
                index.extend(self.pack(&row));
                index.extend(name);
                index_count += 1;
                last_block = here;
            }
            let mut header = vec![(run as u64 - 1, 8)];
            match self.kind.major {
                3 => header.extend([(first.block, 32), (first.number, 32)]),
                _ => header.push((first.block, 24)),
            }
            let header = self.pack(&header);
            len += header.len() as u64;
            self.listings.add(&header);
            for (child, node) in made[at..at + run].iter().zip(&children[at..]) {
                let name = node.name.as_bytes();
                let mut entry = vec![
                    (child.offset, 13),
                    (child.kind, 3),
                    (name.len() as u64 - 1, 8),
                ];
                if self.kind.major == 3 {
                    entry.push((child.number - first.number, 16));
                }
                let entry = self.pack(&entry);
                len += (entry.len() + name.len()) as u64;
                self.listings.add(&entry);
                self.listings.add(name);
            }
            at += run;
        }
        assert!(self.listings.starts.len() == before || len > 1000);
        let subdirectories = made.iter().filter(|child| child.kind == 1).count() as u64;
        let nlink = (2 + subdirectories, 32);
        let long = index_count > 0;
        let fields = match (self.kind.major, long) {
            (3, false) => vec![
                nlink,
                (len + 3, 19),
                (offset, 13),
                (block, 32),
                (parent, 32),
            ],
            (3, true) => vec![
                nlink,
                (len + 3, 27),
                (offset, 13),
                (block, 32),
                (index_count, 16),
                (parent, 32),
            ],
            (_, false) => vec![(len, 19), (offset, 13), (MODIFIED, 32), (block, 24)],
            (_, true) => vec![
                (len, 27),
                (offset, 13),
                (MODIFIED, 32),
                (block, 24),
                (index_count, 16),
            ],
        };
        (if long { 8 } else { 1 }, fields, index)
    }

    /// Adds a table in metadata blocks and the positions of these; returns where the positions are.
    fn table(&mut self, rows: &[u8], width: u32) -> u64 {
        let mut stream = Stream::new(self.kind);
        stream.add(rows);
        stream.close();
        let start = self.image.len() as u64;
        self.image.extend(&stream.stored);
        let at = self.image.len() as u64;
        let blocks = rows.len().div_ceil(8192);
        for block in &stream.starts[..blocks] {
            let position = self.pack(&[(start + block, width)]);
            self.image.extend(position);
        }
        at
    }

    fn finish(mut self, root: &Made) -> Vec<u8> {
        self.close_fragment();
        self.inodes.close();
        self.listings.close();
        let inode_table = self.image.len() as u64;
        self.image.extend(&self.inodes.stored.clone());
        let directory_table = self.image.len() as u64;
        self.image.extend(&self.listings.stored.clone());
        let wide = self.kind.major == 3;
        let mut fragment_table = self.image.len() as u64;
        if !self.fragments.is_empty() {
            let rows: Vec<u8> = self
                .fragments
                .iter()
                .flat_map(|(start, size)| {
                    if wide {
                        self.pack(&[(*start, 64), (*size, 32), (0, 32)])
                    } else {
                        self.pack(&[(*start, 32), (*size, 32)])
                    }
                })
                .collect();
            fragment_table = self.table(&rows, if wide { 64 } else { 32 });
        }
        let mut export_table = u64::MAX;
        if wide {
            let rows: Vec<u8> = self
                .references
                .iter()
                .flat_map(|reference| self.pack(&[(*reference, 64)]))
                .collect();
            export_table = self.table(&rows, 64);
        }
        let mut ids = |ids: &[u64]| {
            let at = self.image.len() as u64;
            for id in ids {
                self.image.extend(pack(self.kind.big, &[(*id, 32)]));
            }
            at
        };
        let (users, groups) = (ids(&USERS), ids(&GROUPS));
        let used = self.image.len() as u64;
        let narrow = |value: u64| if wide { 0 } else { value };
        let exportable = if wide { 0x80 } else { 0 };
        let superblock = self.pack(&[
            (0x7371_7368, 32),
            (self.references.len() as u64, 32),
            (narrow(used), 32),
            (narrow(users), 32),
            (narrow(groups), 32),
            (narrow(inode_table), 32),
            (narrow(directory_table), 32),
            (self.kind.major, 16),
            (u64::from(wide), 16),
            (BLOCK as u64, 16),
            (15, 16),
            (0x40 | exportable, 8),
            (USERS.len() as u64, 8),
            (GROUPS.len() as u64, 8),
            (MADE, 32),
            ((root.block << 16) | root.offset, 64),
            (BLOCK as u64, 32),
            (self.fragments.len() as u64, 32),
            (narrow(fragment_table), 32),
            (used, 64),
            (users, 64),
            (groups, 64),
            (inode_table, 64),
            (directory_table, 64),
            (fragment_table, 64),
            (export_table, 64),
        ]);
        // an older superblock is shorter: what follows it is not looked at
        let len = [51, 63, 119][self.kind.major as usize - 1];
        self.image[..len].copy_from_slice(&superblock[..len]);
        self.image
            .resize(self.image.len().next_multiple_of(4096), 0);
        self.image
    }
}
