import Foundation
import Testing

@testable import Persistence

@Suite struct DumpFixture {
    @Test(.enabled(if: ProcessInfo.processInfo.environment["PEERD_DUMP"] != nil))
    func `dump`() throws {
        let directory = try TemporaryDirectory()
        _ = try DamagedWriters(in: try SQLiteStoreHandle(directory))
        let text = try directory.shell(".dump")
        try Data(text.utf8).write(to: URL(fileURLWithPath: ProcessInfo.processInfo.environment["PEERD_DUMP"] ?? ""))
    }
}
