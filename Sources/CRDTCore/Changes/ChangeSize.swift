/// How much one or several changes hold.
///
/// `byteCount` is the most that their encoding can take, whatever its tables share with other changes and however it is
/// compressed: each operation counts the ids and names that it refers to as if it were alone. So sizes of changes add
/// up to that of the run that holds them, and no way of cutting or joining runs leads beyond a limit.
package struct ChangeSize: Hashable, Sendable {
    package var changeCount: Int
    package var operationCount: Int
    package var byteCount: Int

    package static let zero = ChangeSize(changeCount: 0, operationCount: 0, byteCount: 0)

    package init(changeCount: Int, operationCount: Int, byteCount: Int) {
        self.changeCount = changeCount
        self.operationCount = operationCount
        self.byteCount = byteCount
    }

    package static func += (left: inout ChangeSize, right: ChangeSize) {
        left.changeCount += right.changeCount
        left.operationCount += right.operationCount
        left.byteCount += right.byteCount
    }

    /// What the columns of a change take: stamp, counts, flag, and its secret or root.
    package static let headerByteCount = 64
    /// What an entry of a context takes: a replica, a sequence, a name, and an index.
    package static let contextEntryByteCount = 40
    /// What the columns of an operation take: kind, references and the length of its payload.
    package static let operationByteCount = 24

    /// What one operation takes.
    ///
    /// `nameByteCount`: that of the property's name, for kinds that have one.
    static func byteCount(
        of kind: OperationKind,
        nameByteCount: Int,
        payloadByteCount: Int,
        hasSalt: Bool
    ) -> Int {
        var count = self.operationByteCount + payloadByteCount
        if kind.hasObject { count += Bytes16.byteCount }
        if kind == .move { count += Bytes16.byteCount }
        if kind.hasName { count += 2 + nameByteCount }
        if hasSalt { count += Bytes16.byteCount }
        return count
    }
}

extension Edit {
    /// What the edit takes of a change's size.
    package var byteCount: Int {
        var nameByteCount = 0
        switch self {
        case .set(_, let name, _), .unset(_, let name): nameByteCount = name.utf8.count
        case .erase(let erasure): nameByteCount = erasure.name.utf8.count
        default: break
        }
        return ChangeSize.byteCount(
            of: self.kind,
            nameByteCount: nameByteCount,
            payloadByteCount: self.payload.count,
            hasSalt: false
        )
    }
}

extension Run {
    /// The size of one of the run's changes.
    ///
    /// - Complexity: O(*n*) in its operations.
    package func size(of change: Change) -> ChangeSize {
        var byteCount = ChangeSize.headerByteCount + Int(change.contextCount) * ChangeSize.contextEntryByteCount
        for operation in self.operations[change.operationRange] {
            byteCount += ChangeSize.byteCount(
                of: operation.kind,
                nameByteCount: operation.kind.hasName ? self.names[Int(operation.operand)].utf8.count : 0,
                payloadByteCount: Int(operation.payloadByteCount),
                hasSalt: change.redaction == .partial && operation.hasContent
            )
        }
        return ChangeSize(changeCount: 1, operationCount: Int(change.operationCount), byteCount: byteCount)
    }

    /// The size of all changes of the run.
    package var size: ChangeSize {
        var size = ChangeSize.zero
        for change in self.changes { size += self.size(of: change) }
        return size
    }
}
