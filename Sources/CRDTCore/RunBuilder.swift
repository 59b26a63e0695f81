/// Puts a run together change by change, entering each object, name and grant into its tables once.
///
/// - Complexity: O(1) amortised for an operation.
package struct RunBuilder: Sendable {
    /// What has been built so far.
    package private(set) var run: Run
    private var objectIndexes: [ObjectID: UInt32] = [:]
    private var nameIndexes: [ExactText: UInt32] = [:]
    private var grantIndexes: [GrantID: UInt32] = [:]

    package init(replica: ReplicaID, firstSequence: UInt64) {
        self.run = Run(replica: replica, firstSequence: firstSequence)
    }

    /// Opens the next change; operations appended from here on are its own.
    ///
    /// `blinding`: the change's 16-byte secret, or a 16-byte salt for each operation if some were left out.
    package mutating func beginChange(
        stamp: Stamp,
        context: some Sequence<Dot>,
        blinding: some Collection<UInt8>,
        hasLeftOut: Bool = false
    ) {
        let contextStart = self.run.contextEntries.count
        self.run.contextEntries.append(contentsOf: context)
        self.run.changes.append(
            Change(
                stamp: stamp,
                contextStart: UInt32(contextStart),
                contextCount: UInt32(self.run.contextEntries.count - contextStart),
                operationStart: UInt32(self.run.operations.count),
                operationCount: 0,
                blindingOffset: UInt32(self.run.blinding.count),
                hasLeftOut: hasLeftOut
            )
        )
        self.run.blinding.append(contentsOf: blinding)
    }

    /// Appends an operation to the open change.
    package mutating func append(_ edit: Edit, grant: GrantID? = nil) {
        let kind = edit.kind
        var operand: UInt32 = 0
        switch edit {
        case .set(_, let name, _), .unset(_, let name): operand = self.index(ofName: name)
        case .move(_, let place): operand = place.parent.map { self.index(of: $0) + 1 } ?? 0
        default: break
        }
        self.append(
            kind: kind,
            grant: grant.map { self.index(of: $0) + 1 } ?? 0,
            object: edit.object.map { self.index(of: $0) } ?? 0,
            operand: operand,
            payload: edit.payload
        )
    }

    /// Appends an operation whose table indexes are known.
    package mutating func append(
        kind: OperationKind,
        grant: UInt32,
        object: UInt32,
        operand: UInt32,
        payload: some Collection<UInt8>
    ) {
        let offset = self.run.payload.count
        self.run.payload.append(contentsOf: payload)
        self.run.operations.append(
            Operation(
                kind: kind,
                grant: grant,
                object: object,
                operand: operand,
                payloadOffset: UInt32(offset),
                payloadByteCount: UInt32(self.run.payload.count - offset)
            )
        )
        self.run.changes[self.run.changes.count - 1].operationCount += 1
    }

    /// The table index of an object, entered if it is new.
    package mutating func index(of object: ObjectID) -> UInt32 {
        if let index = self.objectIndexes[object] { return index }
        let index = UInt32(self.run.objects.count)
        self.run.objects.append(object)
        self.objectIndexes[object] = index
        return index
    }

    /// The table index of a property name, entered if it is new.
    package mutating func index(ofName name: String) -> UInt32 {
        if let index = self.nameIndexes[ExactText(name)] { return index }
        let index = UInt32(self.run.names.count)
        self.run.names.append(name)
        self.nameIndexes[ExactText(name)] = index
        return index
    }

    /// The table index of a grant, entered if it is new.
    package mutating func index(of grant: GrantID) -> UInt32 {
        if let index = self.grantIndexes[grant] { return index }
        let index = UInt32(self.run.grants.count)
        self.run.grants.append(grant)
        self.grantIndexes[grant] = index
        return index
    }

    /// Sets the signature over the last change and returns the run.
    package consuming func signed(_ signature: Signature?) -> Run {
        self.run.signature = signature
        return self.run
    }
}
