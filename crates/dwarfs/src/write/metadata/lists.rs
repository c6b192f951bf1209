//! Lists, sets and maps of the metadata as values to freeze.

use crate::layout::metadata::{FieldId, pair};
use crate::write::freeze::{Column, Items, Value};

/// Makes a list of numbers.
pub(super) fn ints(values: &[u32]) -> Value<'_> {
    Value::List(Items::Ints(Column::U32(values)))
}

/// Makes a list of structs, or a map, from their columns.
pub(super) fn structs(columns: Vec<(FieldId, Column<'_>)>) -> Value<'_> {
    Value::List(Items::Structs(columns))
}

/// Makes a list or a set of strings.
pub(super) fn strings<'a>(strings: impl IntoIterator<Item = &'a str>) -> Value<'a> {
    Value::List(Items::Strings(
        strings.into_iter().map(str::as_bytes).collect(),
    ))
}

/// Makes a map from its keys and values.
pub(super) fn lookup((keys, values): &(Vec<u32>, Vec<u64>)) -> Value<'_> {
    structs(vec![
        (pair::FIRST, Column::U32(keys)),
        (pair::SECOND, Column::U64(values)),
    ])
}
