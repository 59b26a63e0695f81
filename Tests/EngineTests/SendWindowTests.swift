import Testing

@testable import Engine

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
            #expect(window.acknowledge(UInt64(byteCount)))
            carried += byteCount
        }
        window.sent(window.free)
        #expect(window.acknowledge(UInt64(window.underWay)))
        #expect(window.byteCount == TransferLimits.windowByteCountMax)
    }

    @Test func `no more can be acknowledged than is under way`() {
        var window = SendWindow()
        window.sent(100)
        #expect(!window.acknowledge(101))
        #expect(!window.acknowledge(.max))
        #expect(window.acknowledge(60))
        #expect(!window.acknowledge(41))
        #expect(window.acknowledge(40))
        #expect(window.underWay == 0)
    }

    @Test func `a change larger than the window is sent alone, and then nothing until it is acknowledged`() {
        var window = SendWindow()
        window.sent(1 << 20)
        #expect(window.free < 0)
        #expect(TransferLimits.streamed(window).byteCountMax == 1)
        #expect(window.acknowledge(1 << 20))
        #expect(TransferLimits.streamed(window).byteCountMax <= window.free)
    }
}
