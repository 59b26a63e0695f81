import PeerdKit
import Testing

/// What somebody knows who has nothing but the deltas of one scope.
struct Mirror {
    private(set) var objects: [ObjectID: Object] = [:]
    private(set) var token: ChangeToken?
    private(set) var isAtAMoment = false

    mutating func apply(_ delta: Delta) {
        delta.apply(to: &self.objects)
        self.token = delta.token
        self.isAtAMoment = !delta.hasMore
    }

    /// Takes in elements until one ends at a moment at which a condition holds.
    mutating func follow(_ changes: inout Changes.Iterator, until isMet: (Mirror) throws -> Bool) async throws {
        while let delta = try await changes.next() {
            self.apply(delta)
            if self.isAtAMoment, try isMet(self) { return }
        }
        Issue.record("the sequence ended")
    }

    /// Takes in elements until what is known is the state of the moment.
    ///
    /// As long as there is a difference there must be another element, unless somebody writes meanwhile.
    mutating func catchUp(
        _ changes: inout Changes.Iterator,
        of scope: Scope,
        in workspace: Workspace,
        patience: Duration = .seconds(10)
    ) async throws {
        for _ in 0..<200 {
            let expected = try await workspace.read { try scope.state(in: $0) }
            if self.token != nil, self.isAtAMoment, self.objects == expected { return }
            let copy = changes
            let element = Task {
                var changes = copy
                return (try await changes.next(), changes)
            }
            let alarm = Task {
                try await Task.sleep(for: patience)
                element.cancel()
            }
            let (delta, next) = try await element.value
            alarm.cancel()
            guard let delta else { break }
            changes = next
            self.apply(delta)
        }
        let expected = try await workspace.read { try scope.state(in: $0) }
        #expect(self.objects == expected, "\(scope)")
    }
}

extension Scope {
    /// What there is in the scope, read as a whole.
    func state(in transaction: borrowing ReadTransaction) throws -> [ObjectID: Object] {
        var objects: [Object] = []
        switch self {
        case .everything: objects = try transaction.page(.all, limit: 10_000).objects
        case .query(let query): objects = try transaction.page(query, limit: 10_000).objects
        case .object(let id): objects = try [transaction.object(id)].compactMap { $0 }
        case .subtree(let id):
            var open = try [transaction.object(id)].compactMap { $0 }
            while let next = open.popLast() {
                objects.append(next)
                if next.childCount > 0 { open += try transaction.page(.children(of: next.id), limit: 10_000).objects }
            }
        }
        return Dictionary(uniqueKeysWithValues: objects.map { ($0.id, $0) })
    }
}
