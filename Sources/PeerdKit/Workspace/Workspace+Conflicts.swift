internal import CRDTCore
internal import Engine
internal import Persistence

extension Workspace {
    /// What is in conflict in a scope: properties and moves, by object and name.
    ///
    /// - Complexity: O(*n* log *n*) in what is in conflict anywhere.
    public func conflicts(in scope: Scope = .everything) async throws -> [Conflict] {
        let device = self.identity.device
        return try await self.reading { transaction in
            let membership = ScopeMembership(scope)
            var found: [Conflict] = []
            for (key, _) in try transaction.conflictedRegisters() {
                guard case .inside = try membership.contains(key.object, in: &transaction) else { continue }
                if let conflict = try Conflict(of: key, readBy: device, in: &transaction) { found.append(conflict) }
            }
            for object in try transaction.objectsWithOpenMoves() {
                guard case .inside = try membership.contains(object, in: &transaction) else { continue }
                if let conflict = try Conflict(movesOf: object, readBy: device, in: &transaction) {
                    found.append(conflict)
                }
            }
            return found.sorted { left, right in
                if left.object != right.object { return left.object < right.object }
                guard let property = right.property else { return left.property != nil }
                return left.property.map { $0.utf8.lexicographicallyPrecedes(property.utf8) } ?? false
            }
        }
    }

    /// Moves that have no effect, since they would put an object below itself; by object.
    public func movesWithoutEffect(in scope: Scope = .everything) async throws -> [MoveWithoutEffect] {
        let device = self.identity.device
        return try await self.reading { transaction in
            let membership = ScopeMembership(scope)
            var found: [MoveWithoutEffect] = []
            for move in try transaction.movesWithoutEffect() {
                guard case .inside = try membership.contains(move.object, in: &transaction) else { continue }
                found.append(
                    MoveWithoutEffect(
                        object: try transaction.object(move.object).id,
                        move: try Conflict.Version(move.write, readBy: device, in: &transaction)
                    )
                )
            }
            return found.sorted { $0.object < $1.object }
        }
    }

    /// Ends a conflict: what is written has seen all of the writes that are in it.
    ///
    /// - Parameters:
    ///   - conflict: what ``conflicts(in:)`` told of.
    ///   - content: what is to be in force, for instance that of one of the losers.
    /// - Throws: ``PeerdError`` with `conflictChanged` if other writes are in conflict by now, or none, and nothing was
    ///   written; `invalidArgument` if the content is none for this conflict; as ``write(_:)`` does.
    public func resolve(_ conflict: Conflict, with content: Conflict.Version.Content) async throws {
        let device = self.identity.device
        try await self.write { transaction in
            let now = try transaction.conflict(of: conflict.object, conflict.property, readBy: device)
            guard conflict.isSame(as: now) else {
                throw PeerdError(
                    .conflictChanged,
                    "Something else has been written since this conflict was read; nothing was changed.",
                    advice: "Read the conflicts again, and decide anew."
                )
            }
            switch (conflict.property, content) {
            case (let name?, .value(let value)):
                try transaction.set(Property<Value>(name), to: value, on: conflict.object)
            case (let name?, .removal): try transaction.unset(Property<Value>(name), on: conflict.object)
            case (nil, .place(let parent)): try transaction.move(conflict.object, to: parent)
            default:
                throw PeerdError(
                    .invalidArgument,
                    "A property is resolved with a value or a removal, and moves with a place.",
                    advice: "Give one of those."
                )
            }
        }
    }
}

extension WriteTransaction {
    /// What is in conflict about a property, or about the place, of an object that is there.
    fileprivate mutating func conflict(
        of object: ObjectID,
        _ property: String?,
        readBy device: DeviceID
    ) throws -> Conflict? {
        try self.readingCommitted { store throws(StoreError) in
            try Conflict.find(of: object, property, readBy: device, in: &store)
        }
    }
}

extension Conflict {
    fileprivate static func find(
        of object: ObjectID,
        _ property: String?,
        readBy device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Conflict? {
        guard let index = try transaction.existingObjectIndex(of: object), try transaction.object(index).isVisible
        else { return nil }
        guard let property else { return try Conflict(movesOf: index, readBy: device, in: &transaction) }
        let key = RegisterKey(object: index, name: try transaction.nameIndex(of: property))
        return try Conflict(of: key, readBy: device, in: &transaction)
    }
}
