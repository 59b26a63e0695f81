internal import CRDTCore
internal import Persistence

/// Some of what is in conflict: properties, kinds and places of objects, and behind them moves without effect.
package struct ConflictPage: Sendable {
    package var conflicts: [Conflict] = []
    package var moves: [MoveWithoutEffect] = []
    /// The place of the last one; nil if nothing comes behind it.
    package var next: ConflictPlace?
}

/// A place in the list of all conflicts, which is sorted by object and name.
package struct ConflictPlace: Hashable, Comparable, Sendable {
    fileprivate enum Subject: Hashable {
        case property(ExactText)
        /// The creations of an object.
        case creation
        /// The moves of an object.
        case place
    }

    fileprivate var isWithoutEffect = false
    fileprivate var object: ObjectID
    fileprivate var subject: Subject

    fileprivate init(object: ObjectID, _ subject: Conflict.Subject, isWithoutEffect: Bool = false) {
        self.object = object
        self.subject =
            switch subject {
            case .property(let name): .property(ExactText(name))
            case .creation: .creation
            case .place: .place
            }
        self.isWithoutEffect = isWithoutEffect
    }

    /// The place of a conflict.
    package init(_ conflict: Conflict) { self.init(object: conflict.object, conflict.subject) }

    /// Reads what ``text`` is; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, let object = ObjectID(text: String(parts[1])) else { return nil }
        switch (parts[0], parts.count) {
        case ("name", 3): self.init(object: object, .property(String(parts[2])))
        case ("creation", 2): self.init(object: object, .creation)
        case ("place", 2): self.init(object: object, .place)
        case ("move", 2): self.init(object: object, .place, isWithoutEffect: true)
        default: return nil
        }
    }

    /// The place as a cursor.
    package var text: String {
        switch self.subject {
        case .property(let name): "name.\(self.object).\(name.text)"
        case .creation: "creation.\(self.object)"
        case .place: "\(self.isWithoutEffect ? "move" : "place").\(self.object)"
        }
    }

    package static func < (left: ConflictPlace, right: ConflictPlace) -> Bool {
        if left.isWithoutEffect != right.isWithoutEffect { return right.isWithoutEffect }
        if left.object != right.object { return left.object < right.object }
        switch (left.subject, right.subject) {
        case (.property(let left), .property(let right)): return left < right
        case (.property, _), (.creation, .place): return true
        case (.creation, _), (.place, _): return false
        }
    }
}

extension Workspace {
    /// Returns some of the conflicts in a scope, and behind them moves without effect.
    ///
    /// - Complexity: O(*n* log *n*) in the conflicts of the whole workspace, of which only those of the page are read.
    package func conflictPage(in scope: Scope, after place: ConflictPlace?, limit: Int) async throws -> ConflictPage {
        let device = self.identity.device
        return try await self.reading { transaction in
            let membership = ScopeMembership(scope)
            var found: [(place: ConflictPlace, subject: Subject)] = []
            func add(_ candidate: ConflictPlace, _ subject: Subject) {
                if place.map({ $0 < candidate }) ?? true { found.append((candidate, subject)) }
            }
            for candidate in try transaction.conflictCandidates() {
                guard case .inside = try membership.contains(candidate.object, in: &transaction) else { continue }
                let id = try transaction.object(candidate.object).id
                add(ConflictPlace(object: id, try candidate.subject(in: &transaction)), .versions(candidate))
            }
            for move in try transaction.movesWithoutEffect() {
                guard case .inside = try membership.contains(move.object, in: &transaction) else { continue }
                let id = try transaction.object(move.object).id
                add(ConflictPlace(object: id, .place, isWithoutEffect: true), .withoutEffect(id, move.write))
            }
            found.sort { $0.place < $1.place }
            var page = ConflictPage()
            var (last, byteCount) = (place, 0)
            for (place, subject) in found {
                guard page.conflicts.count + page.moves.count < limit, byteCount < Page.byteCountMax else {
                    page.next = last
                    break
                }
                last = place
                switch subject {
                case .versions(let candidate):
                    guard let conflict = try Conflict(candidate, readBy: device, in: &transaction) else { continue }
                    page.conflicts.append(conflict)
                    byteCount += conflict.byteCount
                case .withoutEffect(let object, let write):
                    let move = try Conflict.Version(write, readBy: device, in: &transaction)
                    page.moves.append(MoveWithoutEffect(object: object, move: move))
                }
            }
            return page
        }
    }

    /// What is to be read for a place.
    private enum Subject {
        case versions(ConflictCandidate)
        case withoutEffect(ObjectID, WriteReference)
    }
}

extension Conflict {
    /// The bytes of all values, roughly.
    fileprivate var byteCount: Int {
        ((self.winner.map { [$0] } ?? []) + self.losers).reduce(0) { $0 + ($1.value?.byteCount ?? 0) }
    }
}
