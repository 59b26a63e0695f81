import CRDTCore
import PeerCrypto
import Testing

@testable import SyncProtocol

/// One side of a session, by itself.
@Suite struct SyncSessionTests {
    private static let origin = Hash256(bytes: Bytes32(1, 1, 1, 1))

    private struct Side: ~Copyable {
        var store = MemoryStore(origin: SyncSessionTests.origin)
        var session: SyncSession

        init(isDialled: Bool = false) { self.session = SyncSession(isDialled: isDialled, SodiumCryptography()) }

        mutating func hear(_ message: Message, at now: UInt64 = 0) throws -> [SyncSession.Action] {
            try self.store.read { transaction throws(StoreError) in
                try self.session.receive(message, at: now, in: &transaction)
            }
        }

        @discardableResult
        mutating func begin() throws -> Hash256 {
            try self.store.read { transaction throws(StoreError) in try self.session.begin(in: &transaction) }
        }

        mutating func opening() throws -> Message {
            try self.store.read { transaction throws(StoreError) in try self.session.open(in: &transaction) }
        }

        /// Hello and a comparison with a peer that holds nothing but this.
        mutating func open(_ theirs: [FrontierEntry] = []) throws {
            try self.begin()
            _ = try self.hear(.hello(SampleMessages.hello()))
            _ = try self.hear(.ranges([FrontierRange(end: nil, claim: .entries(theirs))]))
        }

        mutating func stored() throws -> [SyncSession.Action] {
            try self.store.read { transaction throws(StoreError) in
                self.session.stored([], sawDuplicate: false, in: &transaction)
            }
        }

        mutating func missingHere() throws -> UInt64? {
            try self.store.read { transaction throws(StoreError) in
                self.session.missingCounts(in: &transaction)?.here
            }
        }

        /// Stores changes as if another peer had sent them.
        mutating func store(_ run: VerifiedRun) throws {
            let founder = SampleMessages.user
            try self.store.write { transaction throws(StoreError) in
                var merge = Merge(now: WallTime(milliseconds: 1 << 50), founder: founder)
                _ = try merge.receive(run, in: &transaction)
                try merge.finish(in: &transaction)
                try self.session.logGrew([run.run.replica], in: &transaction)
            }
        }

        /// The run that is sent next, as the peer reads it; nil if something else is.
        mutating func nextRun() throws -> Run? {
            try self.store.read { transaction throws(StoreError) -> [UInt8]? in
                let next = try self.session.next(after: nil, own: SampleMessages.device, in: &transaction)
                guard case .run(let run)? = next else { return nil }
                return run.bytes
            }
            .flatMap { bytes in
                guard case .run(let run)? = try SampleMessages.read(bytes).first else { return nil }
                return run
            }
        }

        mutating func next() throws -> Message? {
            try self.store.read { transaction throws(StoreError) in
                switch try self.session.next(after: nil, own: SampleMessages.device, in: &transaction) {
                case .run: .caughtUp
                case .message(let message): message
                case nil: nil
                }
            }
        }
    }

    /// Changes of one chain that say nothing.
    private func chain(_ count: Int, from first: UInt64 = 1, after previous: Hash256? = nil, _ salt: UInt8)
        -> VerifiedRun
    {
        var builder = RunBuilder(replica: SampleMessages.replica, firstSequence: first)
        for number in 0..<UInt64(count) {
            let stamp = Stamp(rawValue: (first + number) << 20)
            builder.beginChange(stamp: stamp, context: [], blinding: [UInt8](repeating: salt, count: 16))
            builder.append(.unknown(kind: 200, body: [salt]))
        }
        return VerifiedRun.sealUnchecked(builder, previous: previous ?? Self.origin, SodiumCryptography()) { _ in
            SampleMessages.anySignature
        }
    }

    /// Changes of one chain that each write a small value and a large one.
    private func writes(_ count: Int) -> VerifiedRun {
        var builder = RunBuilder(replica: SampleMessages.replica, firstSequence: 1)
        let object = ObjectID(bytes: Bytes16(high: 5, low: 5))
        for number in 0..<UInt64(count) {
            let stamp = Stamp(rawValue: (1 + number) << 20)
            builder.beginChange(stamp: stamp, context: [], blinding: [UInt8](repeating: 1, count: 16))
            builder.append(.set(object, name: "small", value: .int(1)))
            builder.append(.set(object, name: "large", value: .string(String(repeating: "x", count: 1_000))))
        }
        return VerifiedRun.sealUnchecked(builder, previous: Self.origin, SodiumCryptography()) { _ in
            SampleMessages.anySignature
        }
    }

    private func entry(_ run: VerifiedRun, _ sequence: UInt64) -> FrontierEntry {
        let hash = run.hashes[Int(sequence - run.run.firstSequence)]
        return FrontierEntry(replica: run.run.replica, sequence: sequence, hash: hash)
    }

    @Test func `nothing is heard before the hello, and nothing after a violation`() throws {
        var side = Side()
        #expect(try side.hear(.caughtUp) == [.violation("a message before the hello")])
        #expect(side.session.phase == .closing)
        #expect(try side.hear(.ping(WallTime(milliseconds: 1))).isEmpty)
        #expect(try side.hear(.hello(SampleMessages.hello())).isEmpty)
        #expect(try side.next() == nil)
    }

    @Test func `a session streams once it knows what the peer holds`() throws {
        var side = Side(isDialled: true)
        let fingerprint = try side.begin()
        var hello = SampleMessages.hello()
        let opening = FrontierRange(end: nil, claim: .entries([]))
        #expect(try side.hear(.hello(hello)) == [.greeted(hello), .open])
        #expect(try side.opening() == .ranges([opening]))
        #expect(side.session.phase == .comparing)
        #expect(try side.next() == nil)
        let answer = FrontierRange(end: nil, claim: .answer([]))
        #expect(try side.hear(.ranges([answer])) == [.resume])
        #expect(side.session.phase == .streaming)
        #expect(try side.next() == .caughtUp)
        #expect(try side.next() == nil)

        hello.fingerprint = fingerprint
        var equal = Side()
        try equal.begin()
        #expect(try equal.hear(.hello(hello)) == [.greeted(hello), .resume])
        #expect(equal.session.phase == .streaming)
    }

    @Test func `all bytes that came are credited, once`() throws {
        var side = Side()
        try side.open()
        side.session.received(byteCount: 100)
        side.session.received(byteCount: 50)
        #expect(try side.stored() == [.send(.credit(150))])
        #expect(try side.stored().isEmpty)
    }

    @Test func `what is announced is asked for unless it comes by another way in time`() throws {
        let run = self.chain(3, 1)
        for comes in [true, false] {
            var side = Side()
            try side.open()
            let entry = self.entry(run, 3)
            #expect(try side.hear(.stored([entry]), at: 1_000) == [.resume])
            #expect(side.session.unknownEntryCount == 1)
            if comes { try side.store(run) }
            #expect(side.session.graft(at: 1_000 + TransferLimits.graftDelay - 1) == nil)
            let answer = side.session.graft(at: 1_000 + TransferLimits.graftDelay)
            #expect(answer == (comes ? nil : .eagerness(true)))
            #expect(side.session.unknownEntryCount == (comes ? 0 : 1))
            #expect(side.session.graftDeadline == nil)
        }
    }

    @Test func `what a peer announces for a long time leaves nothing behind`() throws {
        var side = Side()
        try side.open()
        var last: Hash256?
        for number in 0..<600 as Range<UInt64> {
            let run = self.chain(1, from: number + 1, after: last, 1)
            last = run.hashes[0]
            _ = try side.hear(.stored([self.entry(run, number + 1)]))
            try side.store(run)
        }
        #expect(side.session.unknownEntryCount == 0)
        #expect(side.session.chains.isEmpty)
        #expect(try side.next() == .caughtUp)
    }

    @Test func `no more than a few entries of one chain are kept`() throws {
        var side = Side()
        try side.open()
        for number in 1...1_000 as ClosedRange<UInt64> {
            let hash = Hash256(bytes: Bytes32(number, 0, 0, 0))
            let entry = FrontierEntry(replica: SampleMessages.replica, sequence: number, hash: hash)
            _ = try side.hear(.stored([entry]))
        }
        #expect(side.session.unknownEntryCount == TransferLimits.unknownEntryCountMaxByChain)
        #expect(try side.missingHere() == 1_000)
    }

    /// The peer holds another fork: it is asked where the two part, in few messages however long they are.
    @Test(arguments: [1, 2, 500, 4_990, 4_999] as [UInt64])
    func `what a peer holds of a long chain is found by asking`(parting: UInt64) throws {
        let ours = self.chain(5_000, 1)
        var side = Side()
        try side.store(ours)
        let other = self.chain(1, from: parting + 1, after: ours.hashes[Int(parting) - 1], 2)
        let theirs = self.entry(other, parting + 1)
        try side.open([theirs])
        var questionCount = 0
        while case .probe(let probe) = try side.next() {
            questionCount += 1
            try #require(questionCount < 6)
            #expect(try side.next() == nil)
            for point in probe.points { #expect(point.hash == ours.hashes[Int(point.sequence) - 1]) }
            let held = probe.points.last { $0.sequence <= parting }
            let answer = FrontierEntry(replica: probe.replica, sequence: held?.sequence ?? 0, hash: held?.hash ?? .zero)
            #expect(try side.hear(.stored([answer])) == [.resume])
        }
        let sent = side.session.sent[SegmentIndex(rawValue: 0)]
        #expect(sent > parting)
        #expect(side.session.held[SegmentIndex(rawValue: 0)] <= parting)
        #expect(side.session.held[SegmentIndex(rawValue: 0)] + 17 > parting)
    }

    @Test func `a peer that is ahead is waited for`() throws {
        let whole = self.chain(40, 1)
        var side = Side()
        try side.store(self.chain(30, 1))
        try side.open([self.entry(whole, 40)])
        #expect(try side.next() == nil)
        #expect(try side.hear(.stored([self.entry(whole, 30)])) == [.resume])
        #expect(try side.next() == .caughtUp)
    }

    @Test func `a probe is answered with the last of the changes that are held`() throws {
        let ours = self.chain(10, 1)
        var side = Side()
        try side.store(ours)
        try side.open()
        func answer(_ sequences: [UInt64], _ hashes: [Hash256]) throws -> FrontierEntry? {
            let points = sequences.map { ChainPoint(sequence: $0, hash: hashes[Int($0) - 1]) }
            let probe = ChainProbe(replica: SampleMessages.replica, points: points)
            guard case .send(.stored(let entries)) = try side.hear(.probe(probe)).first else { return nil }
            return entries.first
        }
        let other = ours.hashes.prefix(4) + self.chain(10, 2).hashes.suffix(6)
        #expect(try answer([1, 3, 4, 7], Array(other)) == self.entry(ours, 4))
        #expect(try answer([6, 9], Array(other))?.sequence == 0)
        #expect(try answer([6, 9], ours.hashes) == self.entry(ours, 9))
        #expect(side.session.held == [9])
    }

    @Test func `whoever asks waits for the answer`() throws {
        let ours = self.chain(10, 1)
        var side = Side()
        try side.store(ours)
        try side.open([self.entry(ours, 10)])
        let wanted = SampleMessages.wanted(changeCount: 2)
        #expect(try side.hear(wanted) == [.resume])
        #expect(try side.hear(wanted) == [.violation("more is wanted before all was given")])
    }

    private func contents(_ sequences: some Sequence<UInt64>, _ places: [UInt32] = [0]) -> [GivenContent] {
        sequences.map { sequence in
            let change = SegmentPoint(segment: SegmentIndex(rawValue: 0), sequence: sequence)
            return GivenContent(change: change, places: OperationRanges(places))
        }
    }

    @Test func `changes are given once more to who holds them and has asked in vain, and to nobody else`() throws {
        let ours = self.writes(10)
        var side = Side()
        try side.store(ours)
        try side.open([self.entry(ours, 4)])
        while try side.next() != nil {}
        let isTaken = side.session.give(self.contents([3]))
        #expect(isTaken)
        #expect(side.session.givenChangeCount == 0 && !side.session.owesContent)
        #expect(try side.hear(SampleMessages.wanted(changeCount: 2)) == [.resume])
        #expect(side.session.owesContent)
        #expect(try side.next() == .given)
        #expect(!side.session.owesContent)
        let isTakenNow = side.session.give(self.contents([3, 4, 5]))
        #expect(isTakenNow)
        #expect(side.session.owesContent)
        var givenCount = 0
        while try side.next() != nil { givenCount += 1 }
        #expect(givenCount == 2)
        // More than the limit does not wait for anybody: the peer asks again in another session.
        let many = 1...UInt64(TransferLimits.givenChangeCountMax) as ClosedRange<UInt64>
        let isAllTaken = side.session.give(self.contents(many))
        #expect(isAllTaken)
        let isMoreTaken = side.session.give(self.contents([11]))
        #expect(!isMoreTaken)
    }

    /// However much waits that nobody has asked for.
    @Test func `what is asked for is given before all was given is said`() throws {
        let ours = self.writes(10)
        var side = Side()
        try side.store(ours)
        try side.open([self.entry(ours, 10)])
        side.session.hasAskedInVain = true
        let many = 11...UInt64(TransferLimits.givenChangeCountMax + 10) as ClosedRange<UInt64>
        let isQueued = side.session.give(self.contents(many))
        #expect(isQueued)
        let asked = [2, 7].map { WantedContent(change: self.entry(ours, $0), places: OperationRanges([0])) }
        #expect(try side.hear(.wanted(asked)) == [.resume])
        for sequence in [2, 7] as [UInt64] {
            let run = try #require(try side.nextRun())
            #expect(run.firstSequence == sequence)
            // The large value is not wanted, and a small one takes no more room than its leaf.
            #expect(run.operations.map(\.kind) == [.set, .redacted])
        }
    }
}
