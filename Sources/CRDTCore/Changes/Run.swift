/// What the header of one change says beyond its place in the chain, and where its parts lie in the run.
///
/// A trivial value.
package struct Change: Hashable, Sendable {
    package var stamp: Stamp
    /// The entries of the run's `contextEntries` that this change adds to the context of the one before.
    package var contextStart: UInt32
    package var contextCount: UInt32
    package var operationStart: UInt32
    package var operationCount: UInt32
    /// Where the change's blinding lies in the run's `blinding`: a 16-byte secret; if some writes are redacted, a
    /// 16-byte salt for each of the others; if all are, the 32-byte hash of their leaves.
    package var blindingOffset: UInt32
    package var blindingByteCount: UInt32
    package var redaction: Redaction

    package var operationRange: Range<Int> {
        Int(self.operationStart)..<Int(self.operationStart) + Int(self.operationCount)
    }
    package var contextRange: Range<Int> {
        Int(self.contextStart)..<Int(self.contextStart) + Int(self.contextCount)
    }
}

/// How much is gone of what a change writes to properties.
package enum Redaction: UInt8, Hashable, Sendable {
    /// Nothing: the leaves follow from the contents, under one secret.
    case none = 0
    /// A leaf stands for each of some contents.
    case partial = 1
    /// One hash stands for all contents.
    case whole = 2
}

/// Consecutive changes of one replica: the unit of transfer and of signature checking.
///
/// Nothing in a `Run` has been checked but its shape; see `VerifiedRun`.
package struct Run: Hashable, Sendable {
    package var replica: ReplicaID
    /// The sequence of the first change.
    package var firstSequence: UInt64
    /// The name of the change before the first, if the sender knows more than one that it could be.
    package var previous: ChangeName?
    package var changes: [Change] = []
    /// The differences of the contexts, each change's in ascending order.
    package var contextEntries: [Point] = []
    package var operations: [Operation] = []
    package var objects: [ObjectID] = []
    package var names: [String] = []
    package var payload: [UInt8] = []
    package var blinding: [UInt8] = []
    /// The device's signature over the hash of the last change.
    package var signature: Signature?

    package init(replica: ReplicaID, firstSequence: UInt64) {
        self.replica = replica
        self.firstSequence = firstSequence
    }

    /// The sequence of the last change; one before the first if there is none.
    package var lastSequence: UInt64 { self.firstSequence + UInt64(self.changes.count) - 1 }

    /// The bytes of a change's secret or salts.
    package func blinding(of change: Change) -> ArraySlice<UInt8> {
        let start = Int(change.blindingOffset)
        return self.blinding[start..<start + Int(change.blindingByteCount)]
    }

    /// How long a change's blinding has to be: a redacted write has no salt, since that would show what it was to
    /// whoever guesses.
    package func requiredBlindingByteCount(of change: Change) -> Int {
        switch change.redaction {
        case .none: Bytes16.byteCount
        case .partial: self.operations[change.operationRange].count(where: \.hasContent) * Bytes16.byteCount
        case .whole: Bytes32.byteCount
        }
    }

    /// The name of the property that an operation writes, or erases.
    func name(of operation: Operation) -> String { self.names[Int(operation.operand)] }

    /// Whether a change does nothing but write, and one hash is left of all that.
    package func hasOnlyRedacted(_ change: Change) -> Bool {
        change.redaction == .whole
            && self.operations[change.operationRange].allSatisfy { $0.kind == .redacted }
    }

    /// An operation in full words.
    ///
    /// Throws if the payload is not what the kind says.
    package func edit(_ operation: Operation) throws(WireError) -> Edit {
        let payload = self.payload[operation.payloadRange]
        switch operation.kind {
        case .create:
            let body = try CreationBody(decoding: payload)
            return .create(self.objects[Int(operation.object)], type: body.type, kind: body.kind)
        case .set:
            return .set(
                self.objects[Int(operation.object)],
                name: self.names[Int(operation.operand)],
                value: try Value(encoded: payload)
            )
        case .unset:
            return .unset(self.objects[Int(operation.object)], name: self.names[Int(operation.operand)])
        case .move:
            let parent = operation.operand == 0 ? nil : self.objects[Int(operation.operand) - 1]
            let place = Place(parent: parent, position: Position(bytes: Array(payload)))
            return .move(self.objects[Int(operation.object)], place)
        case .delete: return .delete(self.objects[Int(operation.object)])
        case .introduce: return .introduce(try Introduction(decoding: payload))
        case .restamp: return .restamp(try Restamp(decoding: payload))
        case .undo:
            // Versions before this kind carried it unread, so what they accepted must never be refused.
            guard let undo = try? Undo(decoding: payload) else { break }
            return .undo(undo)
        case .branch:
            guard let statement = try? BranchStatement(decoding: payload) else { break }
            return .branch(statement)
        case .action:
            guard let statement = try? ActionStatement(decoding: payload) else { break }
            return .action(statement)
        case .rights:
            guard let statement = try? RightsStatement(decoding: payload) else { break }
            return .rights(statement)
        case .erase:
            guard payload.isEmpty else { throw .trailingBytes }
            return .erase(self.erasure(operation))
        case .redacted:
            return .redacted(
                self.objects[Int(operation.object)],
                name: self.names[Int(operation.operand)],
                leaf: Bytes32(payload).map { Hash256(bytes: $0) }
            )
        default: break
        }
        return .unknown(kind: operation.kind.rawValue, body: Array(payload))
    }

    /// The property that an erasure names, or a write, as an erasure of it does.
    package func erasure(_ operation: Operation) -> Erasure {
        Erasure(object: self.objects[Int(operation.object)], name: self.name(of: operation))
    }

    /// Appends the shape of one operation: all of it, but of a write only which property it is of.
    ///
    /// Kind (that of `set` for each write), object, name or parent as the kind has them, then the payload behind its
    /// length.
    package func appendShape(of operation: Operation, to bytes: inout [UInt8]) {
        bytes.append(operation.kind.isWrite ? OperationKind.set.rawValue : operation.kind.rawValue)
        if operation.kind.hasObject {
            self.objects[Int(operation.object)].bytes.append(to: &bytes)
        }
        if operation.kind.hasName {
            let name = self.names[Int(operation.operand)].utf8
            bytes.appendVarint(UInt64(name.count))
            bytes.append(contentsOf: name)
        } else if operation.kind == .move {
            bytes.append(operation.operand == 0 ? 0 : 1)
            if operation.operand != 0 {
                self.objects[Int(operation.operand) - 1].bytes.append(to: &bytes)
            }
        }
        guard !operation.kind.isWrite else { return }
        bytes.appendVarint(UInt64(operation.payloadByteCount))
        bytes.append(contentsOf: self.payload[operation.payloadRange])
    }
}
