/// Notices that this machine has got other addresses: it was moved to another network, or was given a new one.
package struct InterfaceWatch: Sendable {
    private let task: Task<Void, Never>

    private static let interval = Duration.seconds(1)
    /// For so many intervals after a change it is told again: a new IPv6 address cannot be used at once.
    private static let settlingCount = 2

    /// Begins to watch; `changed` is called with all addresses that there are.
    ///
    /// `failed` is called when the system begins to refuse to tell them; that is no change of them.
    package init(
        _ changed: @escaping @Sendable (Set<String>) -> Void,
        failed: @escaping @Sendable (InterfaceFailure) -> Void
    ) {
        self.task = Task {
            var (known, settling) = (Set<String>?.none, 0)
            var last: InterfaceFailure?
            repeat {
                do throws(InterfaceFailure) {
                    let hosts = try LocalInterfaces.hosts
                    settling = hosts == known ?? hosts ? max(0, settling - 1) : Self.settlingCount
                    (known, last) = (hosts, nil)
                    if settling > 0 { changed(hosts) }
                } catch {
                    if error != last { failed(error) }
                    last = error
                }
            } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }

    /// Ends watching.
    package func stop() { self.task.cancel() }
}

extension LocalInterfaces {
    /// Every address of this machine.
    static var hosts: Set<String> { get throws(InterfaceFailure) { Set(try self.all().map(\.host)) } }
}
