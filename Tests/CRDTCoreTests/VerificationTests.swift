import CRDTCore
import MergeModel
import Testing

/// What a signature over the last change of a run holds together, with real hashes and signatures.
@Suite struct VerificationTests {
    private let author: SodiumAuthor

    init() throws { self.author = try SodiumAuthor() }

    @Test func `a sealed run verifies and has the same hashes`() throws {
        let sealed = self.author.sealed()
        let verified = try self.author.verify(Run(decoding: sealed.run.encoded()))
        #expect(verified.hashes == sealed.hashes)
        #expect(verified.introduction == self.author.introduction)
        #expect(verified.run == sealed.run)
    }

    @Test func `any set of writes can be redacted and the signature still holds`() throws {
        let sealed = self.author.sealed()
        let positions = Array(sealed.run.operations.indices)
        for seed in Seeds.range(from: 1, count: 20) {
            var random = SplitMix64(seed: seed)
            let left = Set(positions.filter { _ in random.chance(40) })
            let partial = sealed.run.erasing(left, self.author.cryptography)?.run ?? sealed.run
            let verified = try self.author.verify(Run(decoding: partial.encoded()))
            #expect(verified.hashes == sealed.hashes, "PEERD_SEED=\(seed)")
        }
    }

    @Test func `a leaf that is not the write's own is refused`() throws {
        let sealed = self.author.sealed()
        var partial = try #require(sealed.run.erasing([3], self.author.cryptography)).run
        let leaf = try #require(partial.operations.firstIndex { $0.kind == .redacted })
        partial.payload[Int(partial.operations[leaf].payloadOffset)] ^= 1
        #expect(throws: RunRejection.badSignature) { try self.author.verify(partial) }
    }

    /// What a relay could say of a write whose content it redacts.
    @Test func `a redacted write names the property that was written to, and nothing but a write is redacted`() throws {
        let sealed = self.author.sealed().run
        let places = Set(sealed.operations.indices)
        let redacted = try #require(sealed.erasing(places, self.author.cryptography)).run
        var lieCount = 0
        for position in redacted.operations.indices {
            var lies = Array(repeating: redacted, count: 3)
            let operation = redacted.operations[position]
            if operation.kind == .redacted {
                lies[0].operations[position].object = (operation.object + 1) % UInt32(redacted.objects.count)
                lies[1].operations[position].operand = (operation.operand + 1) % UInt32(redacted.names.count)
            } else if operation.kind.hasObject {
                let kinds: [OperationKind] = [.set, .unset, .redacted]
                for place in lies.indices { lies[place].operations[position].kind = kinds[place] }
            }
            for lie in lies where lie != redacted {
                #expect(throws: (any Error).self, "operation \(position)") {
                    try self.author.verify(Run(decoding: lie.encoded()))
                }
                lieCount += 1
            }
        }
        #expect(lieCount >= 12)
    }

    @Test func `no flipped bit of a signed run goes unnoticed`() throws {
        let sealed = self.author.sealed()
        let bytes = sealed.run.encoded()
        var readCount = 0
        for position in bytes.indices {
            for bit in Seeds.isExhaustive ? Array(0..<8) : [position % 8] {
                var damaged = bytes
                damaged[position] ^= 1 << bit
                guard let run = try? Run(decoding: damaged) else { continue }
                #expect(throws: RunRejection.self, "bit \(bit) of byte \(position)") { try self.author.verify(run) }
                readCount += 1
            }
        }
        // Decoding alone cannot tell what the bits of a signature must be.
        #expect(readCount >= Signature.byteCount)
    }

    @Test func `a run is refused in any other place of the chain`() throws {
        let run = self.author.sealed().run
        #expect(throws: RunRejection.badSignature) {
            try VerifiedRun.verify(
                run,
                previous: .zero,
                device: nil,
                workspace: self.author.membership.workspace,
                self.author.cryptography
            )
        }
        var later = run
        later.firstSequence = 2
        #expect(throws: RunRejection.introductionMisplaced) { try self.author.verify(later) }
        #expect(throws: RunRejection.introductionMisplaced) {
            try VerifiedRun.verify(
                run,
                previous: self.author.origin,
                device: self.author.device,
                workspace: self.author.membership.workspace,
                self.author.cryptography
            )
        }
    }

    @Test func `a run without a signature or a change is refused`() {
        var unsigned = self.author.sealed().run
        unsigned.signature = nil
        #expect(throws: RunRejection.unsigned) { try self.author.verify(unsigned) }
        let empty = VerifiedRun.sealUnchecked(
            RunBuilder(replica: self.author.replica, firstSequence: 1),
            previous: self.author.origin,
            self.author.cryptography,
            sign: { self.author.sign($0) }
        )
        #expect(throws: RunRejection.unsigned) { try self.author.verify(empty.run) }
    }

    @Test func `a false certificate and a borrowed replica id are refused`() throws {
        let run = self.author.sealed().run
        let other = try SodiumAuthor(number: 2)
        let elsewhere = other.membership.workspace
        #expect(throws: RunRejection.notCertified) { try self.author.verify(run, workspace: elsewhere) }
        var borrowed = run
        borrowed.replica = other.replica
        #expect(throws: RunRejection.wrongReplica) { try self.author.verify(borrowed) }
    }

    @Test func `what a payload must be is checked before anything is kept`() throws {
        let bad: [(UInt8, [UInt8])] = [(1, [9]), (2, []), (2, [77]), (3, [1]), (5, [1]), (7, [1])]
        for (kind, payload) in bad {
            var builder = self.author.builder()
            let object = builder.index(of: ObjectID(bytes: Bytes16(high: 7, low: 7)))
            let kind = OperationKind(rawValue: kind)
            builder.append(kind: kind, object: kind.hasObject ? object : 0, operand: 0, payload: payload)
            let run = VerifiedRun.sealUnchecked(
                builder,
                previous: self.author.origin,
                self.author.cryptography,
                sign: { self.author.sign($0) }
            ).run
            #expect(throws: RunRejection.self, "kind \(kind)") { try self.author.verify(Run(decoding: run.encoded())) }
        }
    }
}
