internal import CRDTCore
internal import Engine
internal import Persistence

extension Workspace {
    /// Returns the conflicts in a scope: of properties, creations and moves, sorted by object and name.
    ///
    /// - Parameter scope: the objects to look at.
    /// - Returns: one element for each property, and for the type and kind, and the place, of each object, that is in
    ///   conflict.
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails.
    /// - Complexity: O(*n* log *n*) in the conflicts of the whole workspace.
    public func conflicts(in scope: Scope = .everything) async throws -> [Conflict] {
        let device = self.identity.device
        return try await self.reading { transaction in
            let membership = ScopeMembership(scope)
            var found: [Conflict] = []
            for candidate in try transaction.conflictCandidates() {
                guard case .inside = try membership.contains(candidate.object, in: &transaction) else { continue }
                if let conflict = try Conflict(candidate, readBy: device, in: &transaction) { found.append(conflict) }
            }
            return found.sorted { ConflictPlace($0) < ConflictPlace($1) }
        }
    }

    /// Returns the moves that have no effect because they would put an object below itself, sorted by object.
    ///
    /// - Parameter scope: the objects to look at.
    /// - Returns: one element for each object whose last move has no effect.
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails.
    /// - Complexity: O(*n* log *n*) in such moves of the whole workspace.
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

    /// Ends a conflict by a write that supersedes all of its versions.
    ///
    /// - Parameters:
    ///   - conflict: a result of ``conflicts(in:)``.
    ///   - content: the value or place to put in force, for instance ``Conflict/Version/content`` of a loser.
    /// - Throws: ``PeerdError`` with `conflictChanged` if other versions are in conflict by now, and nothing was
    ///   written. With `invalidArgument` a property was given a place, or a move a value; or it is a conflict of
    ///   creations, which no write can end. As ``write(_:)`` does.
    public func resolve(_ conflict: Conflict, with content: Conflict.Version.Content) async throws {
        if conflict.subject == .creation {
            throw PeerdError(
                .invalidArgument,
                "The type and the kind of an object cannot be changed; nothing was written.",
                advice: "Keep the object as it is, or delete it and create another one."
            )
        }
        let device = self.identity.device
        try await self.write { transaction in
            let now = try transaction.conflict(of: conflict.object, conflict.subject, readBy: device)
            guard conflict.isSame(as: now) else {
                throw PeerdError(
                    .conflictChanged,
                    "The conflict has changed since it was read; nothing was written.",
                    advice: "Read the conflicts again, and decide again."
                )
            }
            switch (conflict.subject, content) {
            case (.property(let name), .value(let value)):
                try transaction.set(Property<Value>(name), to: value, on: conflict.object)
            case (.property(let name), .removal): try transaction.unset(Property<Value>(name), on: conflict.object)
            case (.place, .place(let parent)): try transaction.move(conflict.object, to: parent)
            default:
                throw PeerdError(
                    .invalidArgument,
                    "The resolution does not fit: a property takes a value or a removal, moves take a place.",
                    advice: "Choose one that fits the conflict."
                )
            }
        }
    }
}

extension WriteTransaction {
    /// Finds the conflict of a part of an object that is there.
    fileprivate mutating func conflict(
        of object: ObjectID,
        _ subject: Conflict.Subject,
        readBy device: DeviceID
    ) throws -> Conflict? {
        try self.readingCommitted { store throws(StoreError) in
            try Conflict.find(of: object, subject, readBy: device, in: &store)
        }
    }
}

extension Conflict {
    fileprivate static func find(
        of object: ObjectID,
        _ subject: Subject,
        readBy device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Conflict? {
        guard let index = try transaction.visibleObject(object) else { return nil }
        let candidate: ConflictCandidate =
            switch subject {
            case .property(let name): .property(RegisterKey(object: index, name: try transaction.nameIndex(of: name)))
            case .creation: .creation(index)
            case .place: .place(index)
            }
        return try Conflict(candidate, readBy: device, in: &transaction)
    }
}
