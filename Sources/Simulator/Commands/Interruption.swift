internal import Foundation
internal import Glibc
internal import Simulation

/// What to do when the user ends the program with Ctrl-C, or the system asks it to end.
///
/// The second time it ends.
final class Interruption {
    private static let signals = [SIGINT, SIGTERM]
    private let sources: [any DispatchSourceSignal]

    init(_ handle: @escaping @Sendable () -> Void) {
        self.sources = Self.signals.map { number in
            // The default would end the process before the source hears of it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                handle()
                for number in Self.signals { signal(number, SIG_DFL) }
            }
            source.resume()
            return source
        }
    }

    func stop() {
        for source in self.sources { source.cancel() }
        for number in Self.signals { signal(number, SIG_DFL) }
    }

    /// Leaves it to the process that started this one when to end.
    ///
    /// That one waits for the answers that are under way. Once it is gone, nobody waits for them any more.
    static func leaveToParent() {
        signal(SIGINT, SIG_IGN)
        // What the parent ignores a child ignores too.
        signal(SIGTERM, SIG_DFL)
        let parent = getppid()
        Thread.detachNewThread {
            while getppid() == parent { sleep(1) }
            _exit(EXIT_FAILURE)
        }
    }
}
