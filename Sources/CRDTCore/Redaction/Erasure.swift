/// Asks that the past of a property is erased: the content of all writes to it in the changes that its author had seen.
///
/// It has an effect only if a later operation of its change writes the same property. That write had seen everything
/// that the erasure covers, so it is ordered after all of it for good, and nothing that is erased could come into force
/// again. So a member erases nothing that is in force without writing something in its place.
///
/// A version that does not know it carries it unread and merges the same: object and name are in the payload.
package struct Erasure: Hashable, Sendable {
    package var object: ObjectID
    package var name: String

    package init(object: ObjectID, name: String) { (self.object, self.name) = (object, name) }

    package static func == (left: Erasure, right: Erasure) -> Bool {
        left.object == right.object && ExactText(left.name) == ExactText(right.name)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.object)
        hasher.combine(ExactText(self.name))
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        self.object.bytes.append(to: &bytes)
        bytes.appendPrefixed(self.name)
    }

    /// Reads an erasure that fills all of `payload`.
    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        self.object = ObjectID(bytes: try reader.bytes16())
        self.name = try reader.text(atMost: Limits.nameByteCountMax)
        try reader.finish()
    }
}

extension Run {
    /// The erasures of a change that have an effect, each property once.
    ///
    /// - Complexity: O(*n*) in the operations of the change.
    package func effectiveErasures(of change: Change) -> [Erasure] {
        guard self.operations[change.operationRange].contains(where: { $0.kind == .erase }) else { return [] }
        var (written, taken): (Set<Erasure>, Set<Erasure>) = ([], [])
        var found: [Erasure] = []
        for position in change.operationRange.reversed() {
            let operation = self.operations[position]
            switch operation.kind {
            case .set, .unset, .redacted:
                let object = self.objects[Int(operation.object)]
                written.insert(Erasure(object: object, name: self.names[Int(operation.operand)]))
            case .erase:
                guard let erasure = try? Erasure(decoding: self.payload[operation.payloadRange]),
                    written.contains(erasure), taken.insert(erasure).inserted
                else { continue }
                found.append(erasure)
            default: continue
            }
        }
        return found
    }

    /// The places of the writes by which erasures of a change count.
    ///
    /// - Complexity: O(*n*) in the operations of the change.
    func writesBehindErasures(of change: Change) -> Set<Int> {
        guard self.operations[change.operationRange].contains(where: { $0.kind == .erase }) else { return [] }
        var (erased, found): (Set<Erasure>, Set<Int>) = ([], [])
        for position in change.operationRange {
            let operation = self.operations[position]
            switch operation.kind {
            case .erase:
                guard let erasure = try? Erasure(decoding: self.payload[operation.payloadRange]) else { continue }
                erased.insert(erasure)
            case .set, .unset, .redacted:
                let object = self.objects[Int(operation.object)]
                let name = self.names[Int(operation.operand)]
                if erased.contains(Erasure(object: object, name: name)) { found.insert(position) }
            default: continue
            }
        }
        return found
    }
}
