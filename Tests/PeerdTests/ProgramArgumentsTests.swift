import Testing

@testable import peerd

@Suite struct ProgramArgumentsTests {
    @Test func `an argument is taken byte for byte`() throws {
        #expect(try ProgramArguments.text(Array("ä=1 €".utf8).map { CChar(bitPattern: $0) }) == "ä=1 €")
    }

    @Test(arguments: [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]] as [[UInt8]])
    func `bytes that are no text are a usage error, and not replaced`(bytes: [UInt8]) {
        #expect {
            try ProgramArguments.text(bytes.map { CChar(bitPattern: $0) })
        } throws: {
            ($0 as? CommandFailure)?.status == .usage
        }
    }
}
