/// Every size that CRDTCore accepts, by name.
///
/// A value above its limit is refused before anything is allocated for it.
package enum Limits {
    /// Bytes of one property value.
    package static let valueByteCountMax = 1 << 20
    /// Bytes of a property name, type or kind.
    package static let nameByteCountMax = 512
    /// Bytes of a fractional index.
    package static let positionByteCountMax = 512
    /// Bytes of an operation's body in a kind this version does not know.
    package static let opaqueByteCountMax = 1 << 20
    /// Operations of one change.
    package static let changeOperationCountMax = 1 << 16
    /// Payload bytes of one change.
    package static let changeByteCountMax = 4 << 20
    /// Entries of one context difference.
    package static let contextEntryCountMax = 1 << 14
    /// Changes of one run.
    package static let runChangeCountMax = 1 << 12
    /// Operations of one run.
    package static let runOperationCountMax = 1 << 17
    /// Payload bytes of one run.
    package static let runByteCountMax = 8 << 20
    /// Certificates between a device and its user.
    package static let certificateCountMax = 16
    /// The context of one of so many changes of a line is kept.
    package static let checkpointInterval: UInt64 = 256
    /// The highest sequence a replica can reach; keeps (sequence, index) in one 64-bit number.
    package static let sequenceMax: UInt64 = (1 << 47) - 1
}
