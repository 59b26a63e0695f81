import CRDTCore
import SyncProtocol
import Testing

/// Two sides that find out how their frontiers differ, with as many replicas as it takes to split ranges.
@Suite struct FrontierComparisonTests {
    private func entry(_ number: UInt64, sequence: UInt64) -> FrontierEntry {
        // Spread over all ids.
        let id = Bytes16(high: number &* 0x9e37_79b9_7f4a_7c15, low: number)
        let hash = Hash256(bytes: Bytes32(number, sequence, 0, 0))
        return FrontierEntry(replica: ReplicaID(bytes: id), sequence: sequence, hash: hash)
    }

    private func frontier(_ sequences: [UInt64: UInt64]) -> Frontier {
        Frontier(sequences.map { self.entry($0.key, sequence: $0.value) })
    }

    /// What a side was taught of the other, all lessons together.
    private struct Side {
        var comparison = FrontierComparison()
        var learned: [FrontierEntry] = []

        mutating func hear(_ claims: [FrontierRange], _ mine: Frontier) -> [FrontierRange] {
            let outcome = self.comparison.answer(claims, mine, SodiumCryptography())
            for lesson in outcome.lessons { self.learned += lesson.entries }
            return outcome.reply
        }

        var frontier: Frontier { Frontier(self.learned) }
    }

    @Test(arguments: [0, 1, 63, 64, 65, 300, 5_000], [0, 1, 40])
    func `each side learns exactly what the other holds`(count: Int, differences: Int) throws {
        var mine: [UInt64: UInt64] = [:]
        for number in 0..<UInt64(count) { mine[number] = number % 7 + 1 }
        var theirs = mine
        for number in 0..<UInt64(differences) {
            // One is behind here, one is behind there, one is unknown here.
            mine[number * 31, default: 0] += 1
            theirs[number * 17 + 3, default: 0] += 2
            theirs[1_000_000 + number] = 1
        }
        let (left, right) = (self.frontier(mine), self.frontier(theirs))
        var (dialler, answerer) = (Side(), Side())
        var claims = dialler.comparison.opening(left, SodiumCryptography())
        var rounds = 0
        while !claims.isEmpty {
            rounds += 1
            try #require(rounds < 10)
            claims = answerer.hear(claims, right)
            if !claims.isEmpty { claims = dialler.hear(claims, left) }
        }
        #expect(dialler.comparison.isComplete && answerer.comparison.isComplete)
        #expect(dialler.frontier == right)
        #expect(answerer.frontier == left)
    }

    @Test(arguments: [(5_000, 0), (0, 5_000), (20_000, 0), (9_000, 9_000), (70_000, 3)])
    func `no message is larger than it may be however many replicas one side lacks`(
        mineCount: Int,
        theirCount: Int
    ) throws {
        let left = self.frontier(Dictionary((0..<UInt64(mineCount)).map { ($0, 1) }) { first, _ in first })
        let right = self.frontier(
            Dictionary((0..<UInt64(theirCount)).map { ($0 + 1_000_000, 1) }) { first, _ in first }
        )
        let frontiers = [left, right]
        var sides = [Side(), Side()]
        var claims = sides[0].comparison.opening(left, SodiumCryptography())
        var messageCount = 0
        while !claims.isEmpty {
            messageCount += 1
            try #require(messageCount < 100)
            var reader = MessageReader()
            reader.append(Message.ranges(claims).encoded())
            let received = try #require(try reader.next())
            guard case .ranges(let arrived) = received.message else {
                Issue.record("ranges came as something else")
                return
            }
            let hearer = messageCount % 2
            claims = sides[hearer].hear(arrived, frontiers[hearer])
        }
        for side in 0..<2 {
            #expect(sides[side].comparison.isComplete)
            let learned = Dictionary(sides[side].learned.map { ($0.replica, $0) }) { first, _ in first }
            #expect(Frontier(Array(learned.values)) == frontiers[1 - side])
        }
    }

    /// Otherwise two devices would send each other the same fingerprints without end.
    @Test func `to as many ranges as a message can hold entries are listed`() throws {
        let rangeCount = MessageLimits.rangeCountMax
        let size = FrontierComparison.listedEntryCountMax + 1
        let frontier = Frontier(
            (0..<UInt64(rangeCount * size)).map { number in
                let id = ReplicaID(bytes: Bytes16(high: number, low: 0))
                return FrontierEntry(replica: id, sequence: 1, hash: .zero)
            }
        )
        let claims = (1...UInt64(rangeCount)).map { number in
            let end = ReplicaID(bytes: Bytes16(high: number * UInt64(size), low: 0))
            return FrontierRange(end: number == UInt64(rangeCount) ? nil : end, claim: .fingerprint(.zero))
        }
        var side = Side()
        let reply = side.hear(claims, frontier)
        var reader = MessageReader()
        reader.append(Message.ranges(reply).encoded())
        _ = try #require(try reader.next())
        let listed = reply.map { range in
            guard case .entries(let entries) = range.claim else { return 0 }
            return entries.count
        }
        #expect(listed.reduce(0, +) == MessageLimits.rangeEntryCountMax / size * size)
    }

    /// Chains that have forked, one of them so often that no range of it could ever be listed if it were split.
    @Test(arguments: [(1, 1), (3, 0), (100, 2), (1_500, 1_500), (9_000, 4), (9_000, 9_000)])
    func `forks of one chain stay together however many there are`(mineCount: Int, theirCount: Int) throws {
        func branches(_ count: Int, of number: UInt64, _ side: UInt64) -> [FrontierEntry] {
            (0..<UInt64(count)).map { place in
                let hash = Hash256(bytes: Bytes32(side, place, 0, 0))
                let id = self.entry(number, sequence: 1).replica
                return FrontierEntry(replica: id, sequence: place / 2 + 1, hash: hash)
            }
        }
        let common = (0..<200 as Range<UInt64>).flatMap { branches(Int($0 % 3) + 1, of: $0 + 10, 0) }
        let frontiers = [
            Frontier(common + branches(mineCount, of: 1, 1) + branches(2, of: 2, 1)),
            Frontier(common + branches(theirCount, of: 1, 2) + branches(70, of: 3, 1)),
        ]
        var sides = [Side(), Side()]
        var claims = sides[0].comparison.opening(frontiers[0], SodiumCryptography())
        var messageCount = 0
        while !claims.isEmpty {
            messageCount += 1
            try #require(messageCount < 20)
            var reader = MessageReader()
            reader.append(Message.ranges(claims).encoded())
            let received = try #require(try reader.next())
            guard case .ranges(let arrived) = received.message else {
                Issue.record("ranges came as something else")
                return
            }
            let hearer = messageCount % 2
            claims = sides[hearer].hear(arrived, frontiers[hearer])
        }
        let forked = self.entry(1, sequence: 1).replica
        for side in 0..<2 {
            #expect(sides[side].comparison.isComplete)
            let learned = Set(sides[side].learned)
            let theirs = Set(frontiers[1 - side].entries)
            #expect(learned.isSubset(of: theirs))
            #expect(learned.filter { $0.replica != forked } == theirs.filter { $0.replica != forked })
            let branchCount = theirs.count { $0.replica == forked }
            let learnedCount = learned.count { $0.replica == forked }
            #expect(learnedCount == min(branchCount, MessageLimits.rangeEntryCountMax))
        }
    }

    /// Otherwise a change would be taken for sent, and the next would leave a gap.
    @Test func `what is written while the comparison goes on is not taken for known to the other side`() {
        var sequences: [UInt64: UInt64] = [:]
        for number in 0..<200 as Range<UInt64> { sequences[number] = 5 }
        let before = self.frontier(sequences)
        sequences[7] = 6
        let after = self.frontier(sequences)
        var (dialler, answerer) = (Side(), Side())
        let answer = answerer.hear(dialler.comparison.opening(before, SodiumCryptography()), before)
        #expect(answer.allSatisfy { $0.claim == .equal })
        _ = dialler.hear(answer, after)
        #expect(dialler.comparison.isComplete)
        #expect(dialler.frontier == before)
    }

    @Test func `nothing is learned from an answer to what was not asked`() {
        let mine = self.frontier([1: 1, 2: 2])
        var side = Side()
        _ = side.hear([FrontierRange(end: nil, claim: .equal)], mine)
        #expect(!side.comparison.isComplete)
        #expect(side.learned.isEmpty)
    }
}
