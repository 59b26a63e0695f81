import Engine
import Logging
import NIOConcurrencyHelpers
import Testing

@testable import peerd

/// What a daemon writes to its log when others have it notice the same thing again and again.
struct NoticeLogTests {
    /// Keeps the lines.
    private struct Lines: LogHandler {
        let lines = NIOLockedValueBox<[String]>([])
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) { self.lines.withLockedValue { $0.append(event.message.description) } }

        func count(_ text: String) -> Int { self.lines.withLockedValue { $0.count { $0.contains(text) } } }
    }

    @Test func `one device fills no log, and neither do many`() {
        let lines = Lines()
        let now = NIOLockedValueBox<UInt64>(5)
        let log = NoticeLog(Logger(label: "test") { _ in lines }, now: { now.withLockedValue { $0 } })
        for number in 0..<1_000 {
            log.write(.protocolViolation(device: "raw", reason: "number \(number)"))
            log.write(.connected(device: "raw"))
            log.write(.disconnected(device: "raw"))
        }
        #expect(lines.count("violated the protocol") == NoticeLog.countMaxByDevice)
        #expect(lines.count("suppressed") == 3)
        for number in 0..<1_000 { log.write(.protocolViolation(device: "made up \(number)", reason: "any")) }
        #expect(lines.count("violated the protocol") == NoticeLog.countMax)
        // Of what no other can bring about everything is told.
        for _ in 0..<200 { log.write(.newReplica(.forked)) }
        #expect(lines.count("new replica id") == 200)
        now.withLockedValue { $0 += NoticeLog.windowMilliseconds }
        log.write(.protocolViolation(device: "raw", reason: "later"))
        #expect(lines.count("(later)") == 1)
    }
}
