import CRDTCore

/// How the `value` column of an operation holds its payload.
///
/// The value of a `set` is held as SQLite's own type with the value's tag beside it; a creation by the numbers of its
/// type and kind; any other payload as bytes without a tag. A payload that its kind does not explain is kept as it is.
enum StoredTag {
    /// The payload as it came, whatever the kind.
    static let raw: Int64 = 255
}
