/// Puts a run together change by change, entering each object and name into its tables once.
///
/// - Complexity: O(1) amortised for an operation.
package struct RunBuilder: Sendable {
    /// What has been built so far.
    package private(set) var run: Run
    // Filled only as soon as there are more than can be looked through as fast.
    private var objectIndexes: [ObjectID: UInt32] = [:]
    private var nameIndexes: [ExactText: UInt32] = [:]

    /// Tables of up to so many entries are looked through.
    private static let searchedCountMax = 8

    package init(replica: ReplicaID, firstSequence: UInt64, previous: ChangeName? = nil) {
        self.run = Run(replica: replica, firstSequence: firstSequence)
        self.run.previous = previous
    }

    /// Opens the next change; operations appended from here on are its own.
    ///
    /// `blinding`: as `Change` has it for its redaction.
    @specialized(where Context == [Point], Blinding == [UInt8])
    @specialized(where Context == [Point], Blinding == ArraySlice<UInt8>)
    @specialized(where Context == ArraySlice<Point>, Blinding == ArraySlice<UInt8>)
    package mutating func beginChange<Context: Sequence<Point>, Blinding: Collection<UInt8>>(
        stamp: Stamp,
        context: Context,
        blinding: Blinding,
        redaction: Redaction = .none
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
                blindingByteCount: UInt32(blinding.count),
                redaction: redaction
            )
        )
        self.run.blinding.append(contentsOf: blinding)
    }

    /// Appends an operation to the open change.
    package mutating func append(_ edit: Edit) {
        let kind = edit.kind
        var operand: UInt32 = 0
        switch edit {
        case .set(_, let name, _), .unset(_, let name), .redacted(_, let name, _): operand = self.index(ofName: name)
        case .erase(let erasure): operand = self.index(ofName: erasure.name)
        case .move(_, let place): operand = place.parent.map { self.index(of: $0) + 1 } ?? 0
        default: break
        }
        var named = edit.object
        if case .erase(let erasure) = edit { named = erasure.object }
        let object = named.map { self.index(of: $0) } ?? 0
        let offset = self.run.payload.count
        edit.encodePayload(to: &self.run.payload)
        self.append(kind: kind, object: object, operand: operand, payloadOffset: offset)
    }

    /// Appends an operation whose table indexes are known.
    package mutating func append(
        kind: OperationKind,
        object: UInt32,
        operand: UInt32,
        payload: some Collection<UInt8>
    ) {
        let offset = self.run.payload.count
        self.run.payload.append(contentsOf: payload)
        self.append(kind: kind, object: object, operand: operand, payloadOffset: offset)
    }

    /// Appends an operation whose payload has been appended from an offset on.
    private mutating func append(
        kind: OperationKind,
        object: UInt32,
        operand: UInt32,
        payloadOffset offset: Int
    ) {
        self.run.operations.append(
            Operation(
                kind: kind,
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
        let count = self.run.objects.count
        if count > RunBuilder.searchedCountMax {
            if let index = self.objectIndexes[object] { return index }
        } else if let index = self.run.objects.firstIndex(of: object) {
            return UInt32(index)
        }
        self.run.objects.append(object)
        if count == RunBuilder.searchedCountMax {
            for (index, object) in self.run.objects.enumerated() { self.objectIndexes[object] = UInt32(index) }
        } else if count > RunBuilder.searchedCountMax {
            self.objectIndexes[object] = UInt32(count)
        }
        return UInt32(count)
    }

    /// The table index of a property name, entered if it is new.
    package mutating func index(ofName name: String) -> UInt32 {
        let count = self.run.names.count
        let text = ExactText(name)
        if count > RunBuilder.searchedCountMax {
            if let index = self.nameIndexes[text] { return index }
        } else if let index = self.run.names.firstIndex(where: { ExactText($0) == text }) {
            return UInt32(index)
        }
        self.run.names.append(name)
        if count == RunBuilder.searchedCountMax {
            for (index, name) in self.run.names.enumerated() { self.nameIndexes[ExactText(name)] = UInt32(index) }
        } else if count > RunBuilder.searchedCountMax {
            self.nameIndexes[text] = UInt32(count)
        }
        return UInt32(count)
    }

    /// Sets the signature over the last change and returns the run.
    package consuming func signed(_ signature: Signature?) -> Run {
        // Taken out, since copies of all its tables would be made and thrown away.
        var run = Run(replica: self.run.replica, firstSequence: self.run.firstSequence)
        swap(&run, &self.run)
        run.signature = signature
        return run
    }
}
