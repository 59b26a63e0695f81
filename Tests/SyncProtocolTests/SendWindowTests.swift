import CRDTCore
import PeerCrypto
import Testing

@testable import SyncProtocol

@Suite struct SendWindowTests {
    /// What a broken link loses is small at first, and never more than is kept for a peer.
    @Test(arguments: 1...20 as ClosedRange<UInt8>)
    func `whatever is acknowledged and when, no more is under way than the link has earned`(seed: UInt8) {
        let bytes = SecretBytes([UInt8](repeating: seed, count: EntropyStream.seedByteCount))
        guard var random = EntropyStream(seed: bytes) else { preconditionFailure("a seed of 32 bytes") }
        var window = SendWindow()
        var (underWay, acknowledged, largest) = (0, 0, 0)
        for step in 0..<3_000 {
            // Some send all that they may, others little by little.
            if random.below(4) > 0, window.free > 0 {
                let byteCount = random.below(2) == 0 ? window.free : 1 + random.below(window.free)
                window.sent(byteCount)
                underWay += byteCount
            } else if underWay > 0 {
                let byteCount = random.below(3) == 0 ? 1 + random.below(underWay) : underWay
                let isAccepted = window.acknowledge(UInt64(byteCount))
                #expect(isAccepted, "step \(step)")
                underWay -= byteCount
                acknowledged += byteCount
            }
            #expect(window.underWay == underWay, "step \(step)")
            #expect(underWay <= min(4 << 20, 8 << 10 + acknowledged / 16), "step \(step)")
            // It never shrinks, and whoever waits for nothing may send.
            #expect(window.byteCount >= largest && (underWay > 0 || window.free > 0), "step \(step)")
            largest = window.byteCount
        }
        #expect(acknowledged > 1 << 20)
    }

    @Test func `a link that carries everything earns the whole window after some hundred rounds`() {
        var window = SendWindow()
        var roundCount = 0
        while window.byteCount < TransferLimits.windowByteCountMax, roundCount < 1_000 {
            window.sent(window.free)
            let isAccepted = window.acknowledge(UInt64(window.underWay))
            #expect(isAccepted)
            roundCount += 1
        }
        #expect((50..<200).contains(roundCount))
    }

    @Test func `no more can be acknowledged than is under way`() {
        var window = SendWindow()
        window.sent(100)
        let isAccepted3 = window.acknowledge(101)
        #expect(!isAccepted3)
        let isAccepted4 = window.acknowledge(.max)
        #expect(!isAccepted4)
        let isAccepted5 = window.acknowledge(60)
        #expect(isAccepted5)
        let isAccepted6 = window.acknowledge(41)
        #expect(!isAccepted6)
        let isAccepted7 = window.acknowledge(40)
        #expect(isAccepted7)
        #expect(window.underWay == 0)
    }

    @Test func `a change larger than the window is sent alone, and then nothing until it is acknowledged`() {
        var window = SendWindow()
        window.sent(1 << 20)
        #expect(window.free < 0)
        #expect(TransferLimits.streamed(window).byteCountMax == 2)
        let isAccepted8 = window.acknowledge(1 << 20)
        #expect(isAccepted8)
        #expect(TransferLimits.streamed(window).byteCountMax <= 2 * window.free)
    }
}

extension EntropyStream {
    fileprivate mutating func below(_ bound: Int) -> Int { Int(self.nextUInt64() % UInt64(bound)) }
}
