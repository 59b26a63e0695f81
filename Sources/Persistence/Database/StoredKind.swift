import CRDTCore

/// How the row of an operation says what it is, and how its column `value` holds the payload.
///
/// A `set` has a number below zero, made of the tag of its value, and the value as SQLite's own type. A creation has
/// the numbers of its type and kind. Any other payload, also one that the kind does not explain, is kept as the bytes
/// that came.
enum StoredKind {
    static func set(_ tag: ValueTag) -> Int64 { ~Int64(tag.rawValue) }

    static func kind(_ stored: Int64) -> OperationKind {
        stored < 0 ? .set : OperationKind(rawValue: UInt8(truncatingIfNeeded: stored))
    }

    /// The tag of the value that a `set` has; nil if there is no such value.
    static func tag(_ stored: Int64) -> ValueTag? { UInt8(exactly: ~stored).flatMap { ValueTag(rawValue: $0) } }
}
