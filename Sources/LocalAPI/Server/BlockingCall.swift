internal import NIOCore
internal import NIOPosix

/// Threads for calls that block on the disk.
enum BlockingCall {
    static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await NIOThreadPool.singleton.runIfActive(body)
    }
}
