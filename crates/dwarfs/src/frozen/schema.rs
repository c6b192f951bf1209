//! The schema: the layout of the root, and the fields of every layout with their offsets.
//!
//! In: the bytes of a `METADATA_V2_SCHEMA` section, decoded. Out: `Schema`, whose references all
//! resolve.
//!
//! **Invariant:** sizes and widths are not negative, and every referenced layout exists. Layouts
//! may refer to each other in cycles: code that follows them must bound the depth.

use std::collections::BTreeMap;

use sinterfs_model::{Error, Result};

use crate::thrift::read::{Reader, Wire};

/// The newest version of Frozen2 files.
pub(crate) const FILE_VERSION: i32 = 1;

/// The number of a layout in its schema.
pub(crate) type LayoutId = i16;

/// Describes the layout of one image's metadata.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Schema {
    /// The version of Frozen2; `FILE_VERSION` in every image known.
    pub(crate) file_version: i32,
    /// Whether type names may differ; always true.
    pub(crate) relax_type_checks: bool,
    /// All layouts.
    pub(crate) layouts: BTreeMap<LayoutId, Layout>,
    /// The layout of the structure at the start of the metadata.
    pub(crate) root: LayoutId,
}

/// Describes the layout of a value, structure, list or string; the schema does not record which
/// of these it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    /// The size in bytes of a byte-aligned layout; 0 if it is bit-packed.
    pub(crate) size: u32,
    /// The size in bits.
    pub(crate) bits: u16,
    /// The fields with a size above zero, by id.
    pub(crate) fields: BTreeMap<i16, Field>,
}

/// The layout and offset of a field in its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// The layout.
    pub(crate) layout: LayoutId,
    /// The offset from the start of the structure: in bytes, or negated in bits.
    pub(crate) offset: i16,
}

impl Schema {
    /// Decodes a schema. `Corrupt` if any bytes follow it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        Self::parse_prefix(bytes).and_then(|(schema, rest)| {
            if rest.is_empty() {
                Ok(schema)
            } else {
                Err(Error::corrupt(format!(
                    "{} bytes after the schema",
                    rest.len()
                )))
            }
        })
    }

    /// Decodes a schema; returns it and the remaining bytes.
    pub(crate) fn parse_prefix(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let mut reader = Reader::new(bytes);
        let schema = read_schema(&mut reader)?;
        schema.check()?;
        Ok((schema, reader.rest()))
    }

    /// Returns a layout; one that a decoded schema refers to always exists.
    pub(crate) fn layout(&self, id: LayoutId) -> Option<&Layout> {
        self.layouts.get(&id)
    }

    fn check(&self) -> Result<()> {
        if self.file_version > FILE_VERSION {
            return Err(Error::unsupported(format!(
                "version {} of Frozen2; {FILE_VERSION} is the newest that is known",
                self.file_version
            )));
        }
        let named = self
            .layouts
            .values()
            .flat_map(|layout| layout.fields.values());
        for id in named.map(|field| field.layout).chain([self.root]) {
            if !self.layouts.contains_key(&id) {
                return Err(Error::corrupt(format!("layout {id} does not exist")));
            }
        }
        Ok(())
    }
}

fn read_schema(reader: &mut Reader<'_>) -> Result<Schema> {
    let mut schema = Schema::default();
    let mut last = 0;
    while let Some((id, wire)) = reader.field(&mut last)? {
        match id {
            1 => schema.relax_type_checks = wire.flag()?,
            2 => {
                wire.expect(Wire::MAP, "the map of layouts")?;
                schema.layouts = read_map(reader, read_layout)?;
            }
            3 => {
                wire.expect(Wire::I16, "the root layout")?;
                schema.root = reader.int()?;
            }
            4 => {
                wire.expect(Wire::I32, "the file version")?;
                schema.file_version = reader.int()?;
            }
            _ => reader.skip(wire)?,
        }
    }
    Ok(schema)
}

fn read_map<T>(
    reader: &mut Reader<'_>,
    read: fn(&mut Reader<'_>) -> Result<T>,
) -> Result<BTreeMap<i16, T>> {
    let (count, key, value) = reader.map()?;
    if count > 0 {
        key.expect(Wire::I16, "an i16 as key")?;
        value.expect(Wire::STRUCT, "a structure as value")?;
    }
    let mut map = BTreeMap::new();
    for _ in 0..count {
        let key = reader.int()?;
        if map.insert(key, read(reader)?).is_some() {
            return Err(Error::corrupt(format!("the id {key} occurs twice")));
        }
    }
    Ok(map)
}

fn read_layout(reader: &mut Reader<'_>) -> Result<Layout> {
    let mut layout = Layout::default();
    let mut last = 0;
    while let Some((id, wire)) = reader.field(&mut last)? {
        match id {
            1 => {
                wire.expect(Wire::I32, "the size of a layout")?;
                layout.size = not_negative(reader.int::<i32>()?)?;
            }
            2 => {
                wire.expect(Wire::I16, "the bits of a layout")?;
                layout.bits = not_negative(reader.int::<i16>()?)?;
            }
            3 => {
                wire.expect(Wire::MAP, "the map of fields")?;
                layout.fields = read_map(reader, read_field)?;
            }
            _ => reader.skip(wire)?,
        }
    }
    Ok(layout)
}

fn not_negative<S, U: TryFrom<S>>(value: S) -> Result<U> {
    U::try_from(value).map_err(|_| Error::corrupt("negative size of a layout"))
}

fn read_field(reader: &mut Reader<'_>) -> Result<Field> {
    let mut field = Field {
        layout: 0,
        offset: 0,
    };
    let mut last = 0;
    while let Some((id, wire)) = reader.field(&mut last)? {
        match id {
            1 => {
                wire.expect(Wire::I16, "the layout of a field")?;
                field.layout = reader.int()?;
            }
            2 => {
                wire.expect(Wire::I16, "the offset of a field")?;
                field.offset = reader.int()?;
            }
            _ => reader.skip(wire)?,
        }
    }
    Ok(field)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A list of `{2: u12, 3: u11}` at the start of the metadata: the example of
    /// dwarfs-format(5), cut down.
    #[rustfmt::skip]
    pub(crate) const EXAMPLE: &[u8] = &[
        0x45, 0x02,       // 4: fileVersion = 1
        0x01, 0x02,       // 1 (long form): relaxTypeChecks = true
        0x1b, 5, 0x4c,    // 2: layouts, 5 pairs of i16 and struct
        0x00,             //  0: u6
        0x24, 0x0c,       //   2: bits = 6
        0x1b, 0x00,       //   3: no fields
        0x18, 0x00,       //   4: typeName = ""
        0x00,
        0x02,             //  1: u5
        0x24, 0x0a, 0x00, //   2: bits = 5
        0x04,             //  2: u12
        0x24, 0x18, 0x00, //   2: bits = 12
        0x06,             //  3: list
        0x24, 0x16,       //   2: bits = 11
        0x1b, 3, 0x4c,    //   3: 3 fields
        0x02,             //    1: distance
        0x14, 0x00,       //     1: layout 0
        0x14, 0x09, 0x00, //     2: offset = -5, bit 5
        0x04,             //    2: count
        0x14, 0x02,       //     1: layout 1
        0x14, 0x00, 0x00, //     2: offset = 0
        0x06,             //    3: item
        0x14, 0x08,       //     1: layout 4
        0x14, 0x00, 0x00, //     2: offset = 0
        0x00,
        0x08,             //  4: item
        0x24, 0x30,       //   2: bits = 24
        0x1b, 2, 0x4c,    //   3: 2 fields
        0x04,             //    2:
        0x14, 0x04,       //     1: layout 2
        0x14, 0x00, 0x00, //     2: offset = 0
        0x06,             //    3:
        0x14, 0x04,       //     1: layout 2
        0x14, 0x17, 0x00, //     2: offset = -12, bit 12
        0x00,
        0x14, 0x06,       // 3: rootLayout = 3
        0x00,
    ];

    #[test]
    fn a_schema_is_read() {
        let schema = Schema::parse(EXAMPLE).unwrap();
        assert_eq!(
            (schema.file_version, schema.relax_type_checks, schema.root),
            (1, true, 3)
        );
        assert_eq!(schema.layouts.len(), 5);
        let list = schema.layout(3).unwrap();
        assert_eq!((list.size, list.bits), (0, 11));
        assert_eq!(
            list.fields[&1],
            Field {
                layout: 0,
                offset: -5
            }
        );
        assert_eq!(
            schema.layout(4).unwrap().fields[&3],
            Field {
                layout: 2,
                offset: -12
            }
        );
    }

    #[test]
    fn refuses_impossible_schemas() {
        let broken = |at: usize, byte: u8| {
            let mut bytes = EXAMPLE.to_vec();
            bytes[at] = byte;
            Schema::parse(&bytes).unwrap_err().to_string()
        };
        let root = EXAMPLE.len() - 2;
        assert!(broken(root, 0x0e).contains("layout 7 does not exist"));
        assert!(broken(1, 0x04).contains("version 2 of Frozen2"));
        assert!(broken(9, 0x0b).contains("negative size"));
        let mut longer = EXAMPLE.to_vec();
        longer.push(0);
        assert!(Schema::parse(&longer).is_err());
        for len in 0..EXAMPLE.len() {
            assert!(Schema::parse(&EXAMPLE[..len]).is_err());
        }
    }

    /// Files of upstream's own tests: a schema and what it describes, one after the other.
    #[test]
    fn schemas_of_upstream() {
        let below = "vectors/upstream/dwarfs/frozen-compatibility";
        let Some(directory) = sinterfs_testkit::shared(below) else {
            return;
        };
        for name in ["afterUnique", "beforeUnique", "withFileVersion"] {
            let bytes = std::fs::read(directory.join(name)).unwrap();
            let (schema, data) = Schema::parse_prefix(&bytes).unwrap();
            let root = &schema.layouts[&schema.root];
            assert!(
                !root.fields.is_empty() && data.len() >= root.size as usize,
                "{name}"
            );
        }
        let bytes = std::fs::read(directory.join("futureVersion")).unwrap();
        let error = Schema::parse_prefix(&bytes).unwrap_err();
        assert_eq!(error.kind(), sinterfs_model::Kind::Unsupported, "{error}");
    }
}
