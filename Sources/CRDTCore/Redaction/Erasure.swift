/// Asks that the past of a property is erased: the content of all writes to it in the changes that its author had seen.
///
/// It has an effect only if a later operation of its change writes the same property. That write had seen everything
/// that the erasure covers, so it is ordered after all of it for good, and nothing that is erased could come into force
/// again. So a member erases nothing that is in force without writing something in its place.
///
/// It is a statement, so nobody can hide what it is about: it has no content that could be redacted.
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
                written.insert(self.erasure(operation))
            case .erase:
                let erasure = self.erasure(operation)
                if written.contains(erasure), taken.insert(erasure).inserted { found.append(erasure) }
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
            case .erase: erased.insert(self.erasure(operation))
            case .set, .unset, .redacted:
                if erased.contains(self.erasure(operation)) { found.insert(position) }
            default: continue
            }
        }
        return found
    }
}
