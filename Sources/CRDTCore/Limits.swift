/// Every size and count that the core accepts, by name: the one table of limits on what is written, sent and stored.
///
/// Each is stated in what a change is by itself (`ChangeSize`), and never in how it happens to be packed or cut. So
/// what one device may make, every other accepts, can load, and can send on:
///
/// - What a write may make is checked by `TransactionPlan` against the same sizes, and the finished run by
///   `Run.validate`, the very function with which a receiver judges it, before it is signed.
/// - A run that holds several changes is no larger than one change may be. Whoever puts changes together does so by the
///   same sizes, which add up, so that a relay can send on whatever it was sent.
/// - A store loads what is within `loadedByteCountMax`, which is more than was ever accepted.
///
/// A value above its limit is refused before anything is allocated for it.
package enum Limits {
    /// Bytes of one property value.
    package static let valueByteCountMax = 1 << 20
    /// Bytes of a property name, type or kind.
    package static let nameByteCountMax = 512
    /// Bytes of a fractional index.
    package static let positionByteCountMax = 512
    /// Bytes beyond which a new position has those around it made anew, so that none ever comes near the limit.
    package static let positionByteCountKept = 96
    /// Bytes of an operation's body in a kind this version does not know.
    package static let opaqueByteCountMax = 1 << 20
    /// Operations of one change: an operation's index has 16 bits.
    package static let changeOperationCountMax = 1 << 16
    /// What all edits of one transaction may have in `ChangeSize.byteCount`.
    package static let editByteCountMax = 6 << 20
    /// Bytes of the name of a program that makes changes.
    package static let labelByteCountMax = 64
    /// Changes that edit nothing, which an undo passes on its way to what it takes back; and writes to a property that
    /// came between what it takes back and what was there before.
    package static let undoPassedCountMax = 1 << 12
    /// Undos of which an undo follows what they name as next.
    package static let undoLeapCountMax = 1 << 8
    /// What a write may have of both, so that taking it back by one change leaves room for saying so; and what an undo
    /// may have, which says besides to which action it belongs.
    package static let transactionOperationCountMax = changeOperationCountMax - 2
    package static let transactionByteCountMax = editByteCountMax - 512
    package static let undoOperationCountMax = changeOperationCountMax - 1
    package static let undoByteCountMax = editByteCountMax - 128
    /// Entries of one context difference.
    ///
    /// Whoever has seen more says so in several changes.
    package static let contextEntryCountMax = 1 << 12
    /// Changes that the opening of a branch of the workspace names.
    package static let branchBaseCountMax = contextEntryCountMax
    /// Deletions of an object by one user in one circle, on several chains, and creations of it, that decide whether he
    /// has moved it from there.
    package static let lifeCountMax = 64
    /// Grants that a chain names as it begins.
    package static let chainGrantCountMax = 64
    /// Changes that a removal names, which is one for each chain of whom it removes.
    package static let removalHeadCountMax = 1 << 13
    /// Devices below a removed one that are kept.
    package static let keptDeviceCountMax = 1 << 8
    /// The last membership keys that a device answers to.
    package static let membershipKeyCountMax = 8
    /// Properties that a grant lists, and removals that it overrides.
    package static let grantNameCountMax = 1 << 8
    package static let grantDespiteCountMax = 1 << 8
    /// `ChangeSize.byteCount` of one change: that of its edits and of the longest context.
    package static let changeByteCountMax =
        editByteCountMax + ChangeSize.headerByteCount + contextEntryCountMax * ChangeSize.contextEntryByteCount
    /// Changes of one run.
    package static let runChangeCountMax = 1 << 12
    /// `ChangeSize.byteCount` of all changes of one run.
    package static let runByteCountMax = changeByteCountMax
    /// What a run may have more than that for the leaves and salts of changes in which something was erased.
    ///
    /// An operation takes so much more at most, whether it is erased or another one of its change.
    package static let redactionByteCountMax = runOperationCountMax * Bytes32.byteCount
    /// Operations of one run: no more than one change may have, so that whatever is redacted of it fits.
    package static let runOperationCountMax = changeOperationCountMax
    /// What a run's encoding has besides its changes: its version, its place in its chain, the lengths of its tables,
    /// and its signature.
    package static let runHeaderByteCountMax = 192
    /// `ChangeSize.byteCount` of one change that a store still loads: earlier versions accepted more than this one
    /// does.
    package static let loadedByteCountMax = 64 << 20
    /// Certificates between a device and its user.
    package static let certificateCountMax = 16
    /// Forks of a chain that are tried, or looked through, one by one.
    ///
    /// A run that continues none of the first so many must name the change that it continues.
    package static let unnamedForkCountMax = 4
    /// The context of one of so many changes of a segment is kept.
    package static let checkpointInterval: UInt64 = 256
    /// So is that of a change with which the contexts since the last one that is kept have so many entries.
    package static let checkpointPointCountMax = 64
    /// The highest sequence a replica can reach; keeps (sequence, index) in one 64-bit number.
    package static let sequenceMax: UInt64 = (1 << 47) - 1
}
