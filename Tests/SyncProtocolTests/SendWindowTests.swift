import CRDTCore
import Testing

@testable import SyncProtocol

@Suite struct SendWindowTests {
    @Test func `what may be under way grows with what was acknowledged`() {
        var window = SendWindow()
        #expect(window.byteCount == TransferLimits.windowByteCountFirst)
        var carried = 0
        while window.byteCount < TransferLimits.windowByteCountMax {
            let byteCount = window.free
            window.sent(byteCount)
            #expect(window.free == 0)
            let bound = TransferLimits.windowByteCountFirst + carried / TransferLimits.windowGrowthDivisor
            #expect(window.underWay <= bound)
            let isAccepted1 = window.acknowledge(UInt64(byteCount))
            #expect(isAccepted1)
            carried += byteCount
        }
        window.sent(window.free)
        let isAccepted2 = window.acknowledge(UInt64(window.underWay))
        #expect(isAccepted2)
        #expect(window.byteCount == TransferLimits.windowByteCountMax)
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
