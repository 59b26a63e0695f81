/// What an operation does.
///
/// Kinds this version does not know are carried, stored and forwarded unread.
package struct OperationKind: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A write to a property, `set` or `unset`, whose content is gone.
    ///
    /// The payload is the leaf that stands for it, or nothing in a change of whose writes one hash is left.
    package static let redacted = OperationKind(rawValue: 255)
    /// Makes an object of a type and kind.
    package static let create = OperationKind(rawValue: 1)
    /// Writes a property.
    package static let set = OperationKind(rawValue: 2)
    /// Removes a property.
    package static let unset = OperationKind(rawValue: 3)
    /// Gives an object its place: a parent and a position among its siblings.
    package static let move = OperationKind(rawValue: 4)
    /// Removes an object as far as its author had seen it.
    package static let delete = OperationKind(rawValue: 5)
    /// Opens a replica's chain: names the device that signs it, with its certificates.
    package static let introduce = OperationKind(rawValue: 6)
    /// Orders a stretch of a chain, stamped by a wrong clock, directly after what it had seen.
    package static let restamp = OperationKind(rawValue: 7)
    /// Says that its change takes back another one of its user, or does it again.
    package static let undo = OperationKind(rawValue: 8)
    /// Says something about a branch of the workspace.
    package static let branch = OperationKind(rawValue: 9)
    /// Asks that the earlier writes to a property are dropped everywhere, those that its author had seen.
    ///
    /// It names the property as a write does, and has no payload.
    package static let erase = OperationKind(rawValue: 10)
    /// Says to which action of which program its change belongs.
    package static let action = OperationKind(rawValue: 11)

    /// Says who may do what in the circle of its chain.
    package static let rights = OperationKind(rawValue: 12)

    /// Whether the operation names one object.
    package var hasObject: Bool { self.isEdit || self == .erase }
    /// Whether the operation changes what it names, an object or a property of it.
    package var isEdit: Bool { (1...5).contains(self.rawValue) || self == .redacted }
    /// Whether the operation writes one property.
    package var isWrite: Bool { self == .set || self == .unset || self == .redacted }
    /// Whether the operation names one property.
    package var hasName: Bool { self.isWrite || self == .erase }
    /// Whether the operation has an operand: a name, or a parent.
    package var hasOperand: Bool { self.hasName || self == .move }
}

/// An operation as it lies in a run: small numbers that point into the run's tables and payload bytes.
///
/// A trivial value, so that a run of 100,000 operations is one allocation.
package struct Operation: Sendable, Hashable {
    package var kind: OperationKind
    /// Index into the run's objects, if the kind has one.
    package var object: UInt32
    /// Index into the run's names for `set`, `unset` and `erase`; 1 + index into its objects, or 0 for the root, for
    /// `move`.
    package var operand: UInt32
    /// Where the payload begins in the run's payload bytes.
    package var payloadOffset: UInt32
    package var payloadByteCount: UInt32

    package init(
        kind: OperationKind,
        object: UInt32 = 0,
        operand: UInt32 = 0,
        payloadOffset: UInt32,
        payloadByteCount: UInt32
    ) {
        self.kind = kind
        self.object = object
        self.operand = operand
        self.payloadOffset = payloadOffset
        self.payloadByteCount = payloadByteCount
    }

    /// Whether it is a write whose content is here.
    package var hasContent: Bool { self.kind == .set || self.kind == .unset }

    /// Where the payload lies in the run's payload bytes.
    package var payloadRange: Range<Int> {
        let start = Int(self.payloadOffset)
        return start..<start + Int(self.payloadByteCount)
    }
}

/// An edit in full words: what a transaction is made of, and what a log line shows.
package enum Edit: Hashable, Sendable {
    case create(ObjectID, type: String, kind: String)
    case set(ObjectID, name: String, value: Value)
    case unset(ObjectID, name: String)
    case move(ObjectID, Place)
    case delete(ObjectID)
    case introduce(Introduction)
    case restamp(Restamp)
    case undo(Undo)
    case branch(BranchStatement)
    case erase(Erasure)
    case action(ActionStatement)
    case rights(RightsStatement)
    /// An operation of a kind this version does not know.
    case unknown(kind: UInt8, body: [UInt8])
    /// A write whose content is gone.
    ///
    /// `leaf`: its leaf; nil in a change of whose writes one hash is left.
    case redacted(ObjectID, name: String, leaf: Hash256?)
}

/// Where an object stands: under which parent (nil for the root) and at which position among the siblings there.
package struct Place: Hashable, Sendable {
    package var parent: ObjectID?
    package var position: Position

    package init(parent: ObjectID?, position: Position) {
        self.parent = parent
        self.position = position
    }

    /// Where an object stands that was never moved.
    package static let initial = Place(parent: nil, position: .initial)
}

extension Edit {
    package var kind: OperationKind {
        switch self {
        case .create: .create
        case .set: .set
        case .unset: .unset
        case .move: .move
        case .delete: .delete
        case .introduce: .introduce
        case .restamp: .restamp
        case .undo: .undo
        case .branch: .branch
        case .erase: .erase
        case .action: .action
        case .rights: .rights
        case .unknown(let kind, _): OperationKind(rawValue: kind)
        case .redacted: .redacted
        }
    }

    /// The object that the edit changes, if it changes one.
    package var object: ObjectID? {
        switch self {
        case .create(let object, _, _), .set(let object, _, _), .unset(let object, _), .move(let object, _),
            .delete(let object), .redacted(let object, _, _):
            object
        case .introduce, .restamp, .undo, .branch, .erase, .action, .rights, .unknown: nil
        }
    }

    /// The bytes of the operation beyond what the run's tables hold.
    package var payload: [UInt8] {
        var bytes: [UInt8] = []
        self.encodePayload(to: &bytes)
        return bytes
    }

    /// Appends those bytes.
    func encodePayload(to bytes: inout [UInt8]) {
        switch self {
        case .create(_, let type, let kind):
            bytes.appendPrefixed(type)
            bytes.appendPrefixed(kind)
        case .set(_, _, let value): value.encode(to: &bytes)
        case .unset, .delete, .erase: break
        case .move(_, let place): bytes += place.position.bytes
        case .introduce(let introduction): introduction.encode(to: &bytes)
        case .restamp(let restamp): restamp.encode(to: &bytes)
        case .undo(let undo): undo.encode(to: &bytes)
        case .branch(let statement): statement.encode(to: &bytes)
        case .action(let statement): statement.encode(to: &bytes)
        case .rights(let statement): statement.encode(to: &bytes)
        case .unknown(_, let body): bytes += body
        case .redacted(_, _, let leaf): leaf?.bytes.append(to: &bytes)
        }
    }
}

/// The content of a `create` operation.
package struct CreationBody: Hashable, Sendable {
    package var type: String
    package var kind: String

    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        try self.init(decoding: Array(payload), at: 0..<payload.count)
    }

    /// Reads a body that fills a range of some bytes.
    init(decoding bytes: [UInt8], at range: Range<Int>) throws(WireError) {
        var reader = ByteReader(bytes, at: range)
        self.type = try reader.text(atMost: Limits.nameByteCountMax)
        self.kind = try reader.text(atMost: Limits.nameByteCountMax)
        try reader.finish()
    }
}
