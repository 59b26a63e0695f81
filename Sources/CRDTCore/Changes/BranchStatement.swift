/// Says something about a branch: a named course of edits beside the main timeline.
///
/// A change belongs to the timeline of its chain, and a chain to the branch that its introduction says, or to the main
/// timeline. To have seen a change of another timeline is not to have merged it: that takes a statement. Devices of the
/// user who gave the branch its id may say these things, and nobody else.
package enum BranchStatement: Hashable, Sendable {
    /// Makes a branch known, with its name and where it begins. It counts as soon as it is stored, wherever it stands.
    case opens(BranchOpening)
    /// Gives up what the change names of the branch, as a deletion removes what its author had seen.
    case closes(BranchID)
    /// Takes in what the change names of a branch, or of the main timeline (nil), with all that counted there.
    case merges(BranchID?)

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        switch self {
        case .opens(let opening):
            Self.encode(0, opening.id, to: &bytes)
            opening.encode(to: &bytes)
        case .closes(let id): Self.encode(1, id, to: &bytes)
        case .merges(let id?): Self.encode(2, id, to: &bytes)
        case .merges(nil): bytes.append(3)
        }
    }

    /// Whether a device of a user may say so: branches are opened, closed and merged by whoever gave them their ids.
    package func isPermitted(to user: UserID) -> Bool {
        switch self {
        case .opens(let opening): opening.id.isGiven(by: user)
        case .closes(let id), .merges(let id?): id.isGiven(by: user)
        case .merges(nil): true
        }
    }

    private static func encode(_ tag: UInt8, _ id: BranchID, to bytes: inout [UInt8]) {
        bytes.append(tag)
        id.bytes.append(to: &bytes)
    }

    /// Reads a statement that fills all of `payload`.
    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        switch try reader.byte() {
        case 0: self = .opens(try BranchOpening(BranchID(bytes: try reader.bytes16()), decoding: &reader))
        case 1: self = .closes(BranchID(bytes: try reader.bytes16()))
        case 2: self = .merges(BranchID(bytes: try reader.bytes16()))
        case 3: self = .merges(nil)
        default: throw .notCanonical
        }
        try reader.finish()
    }
}

/// Where a branch begins, and what it is called.
package struct BranchOpening: Hashable, Sendable {
    package var id: BranchID
    /// The branch that it leaves; nil for the main timeline.
    package var parent: BranchID?
    package var name: String
    /// What it begins with: these changes and all that their authors had seen.
    package var base: [NamedChange]

    package init(id: BranchID, parent: BranchID?, name: String, base: [NamedChange]) {
        (self.id, self.parent, self.name, self.base) = (id, parent, name, base)
    }

    fileprivate func encode(to bytes: inout [UInt8]) {
        bytes.append(self.parent == nil ? 0 : 1)
        self.parent?.bytes.append(to: &bytes)
        bytes.appendPrefixed(self.name)
        bytes.appendVarint(UInt64(self.base.count))
        for change in self.base { change.encode(to: &bytes) }
    }

    fileprivate init(_ id: BranchID, decoding reader: inout ByteReader) throws(WireError) {
        self.id = id
        switch try reader.byte() {
        case 0: self.parent = nil
        case 1: self.parent = BranchID(bytes: try reader.bytes16())
        default: throw .notCanonical
        }
        self.name = try reader.text(atMost: Limits.nameByteCountMax)
        let count = try reader.varint()
        guard count <= Limits.branchBaseCountMax else { throw .overLimit }
        self.base = []
        for _ in 0..<count { self.base.append(try NamedChange(decoding: &reader)) }
    }
}

/// A change as an operation names it: by its full hash, since one dot can later name two changes.
package struct NamedChange: Hashable, Sendable {
    package var replica: ReplicaID
    package var sequence: UInt64
    package var hash: Hash256

    package init(replica: ReplicaID, sequence: UInt64, hash: Hash256) {
        (self.replica, self.sequence, self.hash) = (replica, sequence, hash)
    }

    /// Appends the canonical bytes.
    func encode(to bytes: inout [UInt8]) {
        self.replica.bytes.append(to: &bytes)
        bytes.appendVarint(self.sequence)
        self.hash.bytes.append(to: &bytes)
    }

    init(decoding reader: inout ByteReader) throws(WireError) {
        self.replica = ReplicaID(bytes: try reader.bytes16())
        self.sequence = try reader.varint()
        guard (1...Limits.sequenceMax).contains(self.sequence) else { throw .overLimit }
        self.hash = Hash256(bytes: try reader.bytes32())
    }
}

extension BranchID {
    /// An id that only this user can give, so that nobody else can say where his branch begins.
    package init(of user: UserID, nonce: UInt64) { self.init(bytes: ObjectID(of: user, nonce: nonce).bytes) }

    /// Whether the id is one that this user gives.
    package func isGiven(by user: UserID) -> Bool { ObjectID(bytes: self.bytes).isGiven(by: user) }
}
