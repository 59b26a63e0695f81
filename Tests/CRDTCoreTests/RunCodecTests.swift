import CRDTCore
import MergeModel
import Testing

@Suite struct RunCodecTests {
    /// Everything a decoded run can be asked for; none of it may trap, whatever the bytes were.
    private func exercise(_ run: Run) {
        for operation in run.operations {
            _ = try? run.edit(operation)
            var bytes: [UInt8] = []
            run.appendShape(of: operation, to: &bytes)
        }
        _ = try? run.validate()
        _ = run.lastSequence
        _ = ChainHash.hashes(of: run, previous: .zero, TestCryptography())
        for device in [nil, TestDevice(number: 1).device] {
            _ = try? VerifiedRun.verify(
                run,
                previous: ChainHash.origin(TestDevice.workspace),
                device: device,
                workspace: TestDevice.workspace,
                TestCryptography()
            )
        }
    }

    @Test func `a run comes back from its bytes as it was`() throws {
        let run = SampleRuns.signed(SampleRuns.everything())
        #expect(try Run(decoding: run.encoded()) == run)
        let unsigned = SampleRuns.everything().run
        #expect(try Run(decoding: unsigned.encoded()) == unsigned)
        let empty = Run(replica: run.replica, firstSequence: 9)
        #expect(try Run(decoding: empty.encoded()) == empty)
    }

    @Test func `a run with redacted writes comes back as it was`() throws {
        let run = SampleRuns.signed(SampleRuns.everything())
        var count = 0
        for places in run.operations.indices.map({ [$0] }) + [Array(run.operations.indices)] {
            guard let redacted = run.erasing(Set(places), TestCryptography())?.run else { continue }
            #expect(try Run(decoding: redacted.encoded()) == redacted, "operations \(places)")
            count += 1
        }
        #expect(count == 4)
    }

    @Test func `the edits that went into a run come out of it`() throws {
        for seed in Seeds.range(from: 1, count: 40) {
            var random = SplitMix64(seed: seed)
            var drawn = GeneratedHistory(MergePlanGenerator.plan(seed: seed, changes: 5, troubles: .all)).changes
            var builder = RunBuilder(replica: ReplicaID(bytes: Bytes16(high: seed, low: 0)), firstSequence: 1 + seed)
            var edits: [Edit] = []
            for number in 0..<1 + random.below(5) {
                builder.beginChange(stamp: Stamp(rawValue: random.next()), context: [], blinding: random.bytes(16))
                let added = number == 0 ? [] : drawn.removeLast().edits
                for edit in added { builder.append(edit) }
                edits += added
            }
            let run = try Run(decoding: builder.run.encoded())
            #expect(run == builder.run, "PEERD_SEED=\(seed)")
            #expect(try run.operations.map { try run.edit($0) } == edits, "PEERD_SEED=\(seed)")
        }
    }

    @Test func `bytes that end too soon are refused at every length`() {
        let bytes = SampleRuns.signed(SampleRuns.everything()).encoded()
        for length in bytes.indices {
            #expect(throws: WireError.self, "length \(length)") { try Run(decoding: Array(bytes.prefix(length))) }
        }
    }

    @Test func `bytes after the end are refused`() {
        let bytes = SampleRuns.signed(SampleRuns.everything()).encoded()
        #expect(throws: WireError.trailingBytes) { try Run(decoding: bytes + [0]) }
    }

    @Test func `a changed byte is refused or decodes to a run that can be handled`() {
        let bytes = SampleRuns.signed(SampleRuns.everything()).encoded()
        let replacements = Seeds.isExhaustive ? Array(UInt8.min...UInt8.max) : [0, 1, 2, 0x7f, 0x80, 0x81, 0xff]
        var readCount = 0
        for position in bytes.indices {
            for replacement in replacements + [bytes[position] ^ 1, bytes[position] &+ 1, bytes[position] ^ 0x80] {
                var damaged = bytes
                damaged[position] = replacement
                guard let run = try? Run(decoding: damaged) else { continue }
                self.exercise(run)
                readCount += 1
            }
        }
        // A signature may be any bytes as long as nobody verifies it.
        #expect(readCount >= Signature.byteCount * replacements.count)
    }

    @Test func `random bytes and spliced runs are refused or decode to runs that can be handled`() {
        let sample = SampleRuns.signed(SampleRuns.everything()).encoded()
        for seed in Seeds.range(from: 1, count: 400) {
            var random = SplitMix64(seed: seed)
            var bytes = sample
            for _ in 0..<1 + random.below(4) {
                let from = random.below(bytes.count)
                let to = min(bytes.count, from + random.below(12))
                bytes.replaceSubrange(from..<to, with: random.bytes(random.below(12)))
            }
            if let run = try? Run(decoding: bytes) { self.exercise(run) }
            if let run = try? Run(decoding: random.bytes(random.below(200))) { self.exercise(run) }
        }
    }

    @Test func `a table reference out of range is refused`() throws {
        func refused(_ change: (inout Run) -> Void) {
            var run = SampleRuns.everything().run
            change(&run)
            #expect(throws: WireError.badReference) { try Run(decoding: run.encoded()) }
        }
        refused { $0.operations[1].object = 2 }
        refused { $0.operations[2].operand = 2 }
        refused { $0.operations[5].operand = 3 }
    }

    @Test func `contexts must be in order, without repetition, and within the limits`() throws {
        func decoded(_ context: [Point]) throws -> Run {
            var builder = RunBuilder(replica: ReplicaID(bytes: Bytes16(high: 5, low: 5)), firstSequence: 1)
            builder.beginChange(stamp: Stamp(rawValue: 1), context: context, blinding: Array(0..<16))
            return try Run(decoding: builder.run.encoded())
        }
        func point(_ replica: UInt64, _ sequence: UInt64, _ name: UInt64) -> Point {
            Point(
                replica: ReplicaID(bytes: Bytes16(high: replica, low: replica)),
                sequence: sequence,
                name: ChangeName(rawValue: name)
            )
        }
        // Several forks of one chain, of the author's own too.
        let sound = [point(1, 1, 9), point(1, 2, 3), point(1, 2, 4), point(5, 1, 0), point(6, 1, .max)]
        #expect(try decoded(sound).contextEntries == sound)
        #expect(throws: WireError.notCanonical) { try decoded([point(2, 1, 1), point(1, 1, 1)]) }
        #expect(throws: WireError.notCanonical) { try decoded([point(1, 2, 1), point(1, 1, 1)]) }
        #expect(throws: WireError.notCanonical) { try decoded([point(1, 1, 2), point(1, 1, 1)]) }
        #expect(throws: WireError.notCanonical) { try decoded([point(1, 1, 1), point(1, 1, 1)]) }
        #expect(throws: WireError.overLimit) { try decoded([point(1, 0, 1)]) }
        #expect(throws: WireError.overLimit) { try decoded([point(1, Limits.sequenceMax + 1, 1)]) }
    }

    @Test func `the name of the change before a run comes back, and no other mark of it is taken`() throws {
        let run = SampleRuns.signed(SampleRuns.everything())
        var named = run
        named.previous = ChangeName(rawValue: 0x0123_4567_89ab_cdef)
        #expect(try Run(decoding: named.encoded()) == named)
        #expect(named.encoded().count == run.encoded().count + 8)
        var bytes = run.encoded()
        // The version, the replica, and a sequence of one byte stand before the mark.
        bytes[1 + 16 + 1] = 2
        #expect(throws: WireError.notCanonical) { try Run(decoding: bytes) }
    }

    @Test func `a restamp comes back, and one of no stretch is refused`() throws {
        let restamp = Restamp(
            replica: ReplicaID(bytes: Bytes16(high: 1, low: 2)),
            firstSequence: 3,
            lastSequence: 300,
            lastHash: Hash256(bytes: Bytes32(1, 2, 3, 4))
        )
        let payload = Edit.restamp(restamp).payload
        #expect(try Restamp(decoding: payload[...]) == restamp)
        #expect(throws: WireError.trailingBytes) { try Restamp(decoding: (payload + [0])[...]) }
        #expect(throws: WireError.self) { try Restamp(decoding: payload.dropLast()) }
        for (first, last) in [(0, 3), (4, 3), (1, Limits.sequenceMax + 1)] as [(UInt64, UInt64)] {
            var wrong = restamp
            (wrong.firstSequence, wrong.lastSequence) = (first, last)
            let payload = Edit.restamp(wrong).payload
            #expect(throws: WireError.overLimit) { try Restamp(decoding: payload[...]) }
        }
    }

    @Test func `a run that would leave the numbered chain is refused`() {
        for sequence in [0, Limits.sequenceMax, .max] as [UInt64] {
            let run = Run(replica: ReplicaID(bytes: Bytes16(high: 1, low: 1)), firstSequence: sequence)
            #expect(throws: WireError.overLimit) { try Run(decoding: run.encoded()) }
        }
    }

    @Test func `a mark that contents are gone must be true`() {
        for (redaction, byteCount) in [(Redaction.partial, 0), (.whole, Bytes32.byteCount)] {
            var run = SampleRuns.everything().run
            run.changes[2].redaction = redaction
            run.blinding.removeLast(Bytes16.byteCount)
            run.blinding += Array(repeating: 0, count: byteCount)
            #expect(throws: WireError.notCanonical) { try Run(decoding: run.encoded()) }
        }
    }

    @Test func `a claim of a size that is not there allocates nothing and is refused`() {
        var bytes: [UInt8] = [Run.formatVersion]
        bytes += Array(repeating: 7, count: 16)
        bytes.appendVarint(1)
        bytes.append(0)
        for claim in [1, 1 << 20, 1 << 40, UInt64.max] {
            var claimed = bytes
            claimed.appendVarint(claim)
            #expect(throws: WireError.self) { try Run(decoding: claimed) }
            var inNames = bytes + [0]
            inNames.appendVarint(claim)
            #expect(throws: WireError.self) { try Run(decoding: inNames) }
            var inChanges = bytes + [0, 0, 0]
            inChanges.appendVarint(claim)
            #expect(throws: WireError.self) { try Run(decoding: inChanges) }
        }
    }
}
