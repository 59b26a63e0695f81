import CRDTCore

/// Edits in a circle of the founder, and what he says there of who may do what.
enum SharedWorkload {
    private static let statementsPerChange = 100
    /// The one other user who writes.
    private static let writer: UInt64 = 1

    private static func circle(_ founder: Founder) -> Circle {
        .shared(owner: founder.membership.founder, nonce: Bytes16(high: 0, low: 1))
    }

    /// Who writes the news, and where.
    enum Author: String {
        /// The founder, who owns the circle.
        case founder
        /// Somebody else whom the founder lets write.
        case other
        /// The founder, in home: the circle has nothing to do with it.
        case home
    }

    /// Ten properties of each object are written.
    ///
    /// `grantCount`: to as many users, the first of whom is who writes; as many of the last ones as `removalCount` says
    /// are removed again. All of that is said in the base.
    static func writes(
        _ shape: Workload.Shape,
        by author: Author,
        grantCount: Int,
        removalCount: Int
    ) -> Workload.Runs {
        let founder = Founder()
        let circle = Self.circle(founder)
        var owner = Writer(number: 1, founder: founder, runSize: shape.runSize, as: Standing(circle: circle))
        var runs = Workload.Runs()
        var founding = Writer(number: 3, founder: founder, runSize: shape.runSize)
        if author == .home {
            Workload.create(shape.count / Workload.propertyCount, by: &founding)
            owner.write([.create(Workload.object(shape.count), type: "item", kind: "")], at: Workload.stamp(0))
        } else {
            Workload.create(shape.count / Workload.propertyCount, by: &owner)
        }
        let users = (0..<grantCount).map { Standing(user: Self.writer + UInt64($0)).userID }
        let grants = users.map { RightsStatement.grants(.init(to: $0, .writer)) }
        let removals = users.suffix(removalCount).map { user in
            RightsStatement.removes(.init(of: user, from: Set(Role.allCases)))
        }
        let first = self.state(grants + removals, by: &owner)
        runs.base = owner.takeRuns() + founding.takeRuns()
        let registers = Array(0..<shape.count)
        switch author {
        case .founder:
            Workload.write(registers, by: &owner, number: 1, shape, context: []) { 1_000_000 + $0 }
            runs.news = owner.takeRuns()
        case .home:
            Workload.write(registers, by: &founding, number: 1, shape, context: []) { 1_000_000 + $0 }
            runs.news = founding.takeRuns()
        case .other:
            let standing = Standing(user: Self.writer, circle: circle, grants: first.map { [$0] } ?? [])
            var writer = Writer(number: 2, founder: founder, runSize: shape.runSize, as: standing)
            let seen = [owner.head]
            Workload.write(registers, by: &writer, number: 2, shape, context: seen) { 1_000_000 + $0 }
            runs.news = writer.takeRuns()
        }
        return runs
    }

    /// The founder removes who writes, having heard of his first change alone: what came after it counts no more.
    ///
    /// Of the base, `cutCount` writes are cut, each a change and to another object as far as there are as many; the
    /// founder had written to the same properties.
    static func lateRemoval(_ shape: Workload.Shape, cutCount: Int) -> Workload.Runs {
        let founder = Founder()
        let circle = Self.circle(founder)
        var owner = Writer(number: 1, founder: founder, runSize: shape.runSize, as: Standing(circle: circle))
        var runs = Workload.Runs()
        let ownCount = shape.count - cutCount
        Workload.create(ownCount / Workload.propertyCount, by: &owner)
        let user = Standing(user: Self.writer).userID
        let grant = self.state([.grants(.init(to: user, .writer))], by: &owner)
        Workload.write(Array(0..<ownCount), by: &owner, number: 1, shape, context: []) { 1_000_000 + $0 }
        let standing = Standing(user: Self.writer, circle: circle, grants: grant.map { [$0] } ?? [])
        var writer = Writer(number: 2, founder: founder, runSize: shape.runSize, as: standing)
        writer.write([], at: Workload.stamp(1_999_999), context: [owner.head])
        let kept = writer.lastChange
        for change in 0..<cutCount {
            let register = change * (ownCount / cutCount)
            writer.write([Workload.set(register, by: 2)], at: Workload.stamp(2_000_000 + change))
        }
        runs.base = owner.takeRuns() + writer.takeRuns()
        let removal = RightsStatement.Removal(of: user, from: Set(Role.allCases), heads: [kept])
        owner.write([.rights(.removes(removal))], at: Workload.stamp(3_000_000))
        runs.news = owner.takeRuns()
        return runs
    }

    /// Writes statements; returns the first one, as chains name it.
    private static func state(_ statements: [RightsStatement], by owner: inout Writer) -> StatementID? {
        var first: StatementID?
        for start in stride(from: 0, to: statements.count, by: Self.statementsPerChange) {
            let end = min(statements.count, start + Self.statementsPerChange)
            owner.write(statements[start..<end].map { .rights($0) }, at: Workload.stamp(500_000 + start))
            if first == nil { first = StatementID(change: owner.lastChange, index: 0) }
        }
        return first
    }
}
